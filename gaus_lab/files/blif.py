"""BLIF: combinational logic with latches as loop-carried edges; inputs are operations, counted as in the literature.

Every input (type ``input``) and every ``.names`` table (type ``logic``, or ``const`` without fan-in) is an operation
named by its signal; both share the resource ``op``. A latch is no operation: it adds 1 to the distance of the edges
through it, and a ring of latches without logic becomes one operation ``latch``. Clocks and covers do not count.

References
----------
University of California, Berkeley, "Berkeley Logic Interchange Format (BLIF)", 1992.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from gaus_lab.checks import short
from gaus_lab.errors import GausLabWarning, GraphError
from gaus_lab.files.records import refuse_losses
from gaus_lab.files.source import decode
from gaus_lab.graph import Graph, GraphBuilder

_TYPES = {t: {"resource": "op"} for t in ("input", "logic", "const", "latch")}
_HIERARCHY = (".subckt", ".gate", ".mlatch", ".search")
_COVER = frozenset("01-")
#: Directives of one file that are warned of.
_MOST_WARNINGS = 20
#: What the types of operations become in a file: no driver of its own, or a table. AIGER's types are kinds of logic.
_WITHOUT_TABLE = ("op", "input")
_WITH_TABLE = ("op", "logic", "and", "buf")
#: Attributes that AIGER files leave behind and that mean nothing here.
_AIGER_ATTRIBUTES = ("outputs", "output_symbols")


@dataclass
class _Netlist:
    """What a file declares; a driver is (kind, fan-in signals, line)."""

    name: str | None = None
    drivers: dict[str, tuple[str, list[str], int]] = field(default_factory=dict)
    outputs: list[tuple[str, int]] = field(default_factory=list)


def parse(data: bytes, where: str, name: str) -> Graph:
    """Return the graph in the bytes of a BLIF file."""
    reader = _Reader(where)
    reader.read(decode(data, where))
    netlist = reader.netlist
    builder = GraphBuilder(netlist.name or name, op_types=_TYPES, where=where)
    builder.attributes = {"outputs": [signal for signal, _ in netlist.outputs]}
    for signal, (kind, _, line) in netlist.drivers.items():
        if kind != "latch":
            builder.add_op(signal, type=kind, where=f"{where}:{line}")
    sources = _Sources(netlist, builder, where)
    for signal, (kind, fan_in, line) in netlist.drivers.items():
        if kind == "latch":
            sources.of(signal, line)
            continue
        for operand in fan_in:
            producer, distance = sources.of(operand, line)
            builder.add_edge(producer, signal, distance=distance, where=f"{where}:{line}")
    for signal, line in netlist.outputs:
        sources.of(signal, line)
    return builder.build()


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of the first line, words), with continued lines joined and comments removed."""
    words: list[str] = []
    begin = 0
    for number, line in enumerate(text.split("\n"), 1):
        content = line.split("#", 1)[0].rstrip()
        begin = begin or number
        if content.endswith("\\"):
            words += content[:-1].split()
            continue
        words += content.split()
        if words:
            yield begin, words
        words, begin = [], 0
    if words:
        yield begin, words


class _Reader:
    """Collects a netlist directive by directive; rows of tables are checked, and mean nothing to a data-flow graph."""

    def __init__(self, where: str) -> None:
        self.where, self.place = where, where
        self.netlist = _Netlist()
        self.ignored: set[str] = set()
        self._width: int | None = None  # of the table that may be read
        self._line = 0

    def read(self, text: str) -> None:
        """Read a file up to its first ``.end``."""
        declared = False
        for self._line, (head, *rest) in _lines(text):
            self.place = f"{self.where}:{self._line}"
            if not head.startswith("."):
                _check_cover(head, rest, self._width, self.place)
                continue
            declared, self._width = True, None
            if head in (".end", ".exdc"):  # what follows .exdc are external don't-cares, no logic
                break
            self._directive(head, rest)
        if not declared:
            raise GraphError(f"{self.where}: the file holds no BLIF model")

    def _directive(self, head: str, rest: list[str]) -> None:
        if head == ".model":
            self._model(rest)
        elif head in (".inputs", ".input"):
            for signal in rest:
                self._drive(signal, "input", [])
        elif head in (".outputs", ".output"):
            self.netlist.outputs += [(signal, self._line) for signal in rest]
        elif head == ".names":
            if not rest:
                raise GraphError(f"{self.place}: .names needs at least the signal that it drives")
            self._width = len(rest) - 1
            self._drive(rest[-1], "logic" if self._width else "const", rest[:-1])
        elif head == ".latch":
            self._latch(rest)
        elif head in _HIERARCHY:
            raise GraphError(
                f"{self.place}: {head} is not read: flatten the design to .names first (e.g. with ABC)"
            )
        elif head not in self.ignored and len(self.ignored) < _MOST_WARNINGS:
            self.ignored.add(head)
            warnings.warn(
                f"{self.place}: directive {short(head, render=str)} is ignored", GausLabWarning, stacklevel=6
            )

    def _model(self, rest: list[str]) -> None:
        if self.netlist.name is not None:
            raise GraphError(
                f"{self.place}: a second .model; hierarchy is not read, flatten the design first"
            )
        self.netlist.name = rest[0] if rest else None

    def _latch(self, rest: list[str]) -> None:
        if not 2 <= len(rest) <= 5:
            raise GraphError(
                f"{self.place}: .latch needs 'input output [type control] [init]', got {len(rest)} words"
            )
        self._drive(rest[1], "latch", rest[:1])

    def _drive(self, signal: str, kind: str, fan_in: list[str]) -> None:
        if signal in self.netlist.drivers:
            first = self.netlist.drivers[signal][2]
            raise GraphError(
                f"{self.place}: signal {signal!r} is driven twice, first in line {first}; keep one driver"
            )
        self.netlist.drivers[signal] = (kind, fan_in, self._line)


def _check_cover(head: str, rest: list[str], width: int | None, place: str) -> None:
    """Check one row of a truth table: an input plane as wide as the fan-in, and an output value."""
    shown = short(" ".join([head, *rest]), render=str)
    if width is None:
        raise GraphError(f"{place}: expected a directive that begins with '.', got: {shown}")
    plane, value = (head, rest) if width else ("", [head, *rest])
    if len(plane) != width or len(value) != 1 or value[0] not in ("0", "1") or not set(plane) <= _COVER:
        raise GraphError(
            f"{place}: a row of this table has {width} of 0, 1, - and an output 0 or 1, got: {shown}"
        )


class _Sources:
    """Finds the operation behind a signal, and the latches in between."""

    def __init__(self, netlist: _Netlist, builder: GraphBuilder, where: str) -> None:
        self.drivers, self.builder, self.where = netlist.drivers, builder, where
        self.found: dict[str, tuple[str, int]] = {}

    def of(self, signal: str, line: int) -> tuple[str, int]:
        """Return (operation, distance)."""
        chain: dict[str, None] = {}
        at = signal
        while at not in self.found:
            if at not in self.drivers:
                raise GraphError(f"{self.where}:{line}: signal {at!r} is used, but nothing drives it")
            kind, fan_in, line = self.drivers[at]
            if kind != "latch":
                self.found[at] = (at, 0)
            elif at in chain:
                names = list(chain)
                self._close_ring(names[names.index(at) :], line)
                chain = {}
                at = signal
            else:
                chain[at] = None
                at = fan_in[0]
        op, distance = self.found[at]
        for latch in reversed(chain):
            distance += 1
            self.found[latch] = (op, distance)
        return self.found[signal]

    def _close_ring(self, ring: list[str], line: int) -> None:
        """Make one operation of latches that feed only one another; it stands for the first."""
        place = f"{self.where}:{line}"
        self.builder.add_op(ring[0], type="latch", where=place)
        self.builder.add_edge(ring[0], ring[0], distance=len(ring), where=place)
        self.found[ring[0]] = (ring[0], 0)


def render(graph: Graph) -> str:
    """Return the graph as BLIF: every operation with operands as an AND of them, one without as an input.

    The outputs are those that the graph came with, else the operations without consumers. Operations of AIGER files
    become tables; their symbols are left out.

    Raises
    ------
    GraphError
        The graph says something that BLIF does not: another type, a distance, a latency, a name with blanks.
    """
    refuse_losses(graph, "BLIF", keeps=("type", "symbol", *_AIGER_ATTRIBUTES))
    if set(graph.resources) - {"op"}:
        raise GraphError(
            f"graph {graph.name!r} cannot be written as BLIF, where all operations share the resource 'op'; got "
            f"{short(', '.join(graph.resources), render=str)}; write JSON, GML, GraphML or DOT"
        )
    operands: list[list[str]] = [[] for _ in graph.ops]
    for src, dst in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
        operands[dst].append(graph.ops[src])
    for name in (graph.name, *graph.ops):
        _check_word(name)
    lines = [f".model {graph.name}", " ".join([".outputs", *_outputs(graph)])]
    inputs: list[str] = []  # neighbours share a line
    for i, name in enumerate(graph.ops):
        table = _table(graph, i, operands[i])
        if table is None:
            inputs.append(name)
            continue
        lines += [" ".join([".inputs", *inputs])] if inputs else []
        inputs = []
        lines += table
    lines += [" ".join([".inputs", *inputs])] if inputs else []
    return "\n".join([*lines, ".end"]) + "\n"


def _table(graph: Graph, op: int, operands: list[str]) -> list[str] | None:
    """Return the lines of an operation's table, None for an input."""
    name, kind = graph.ops[op], graph.type_of(op)
    if not operands and kind == "const":
        return [f".names {name}"]
    if kind not in (_WITH_TABLE if operands else _WITHOUT_TABLE):
        raise GraphError(
            f"graph {graph.name!r} cannot be written as BLIF: op {op} ({name}) with {len(operands)} operands has type "
            f"{short(kind)}, which would be lost; write JSON, GML, GraphML or DOT"
        )
    return [" ".join([".names", *operands, name]), "1" * len(operands) + " 1"] if operands else None


def _outputs(graph: Graph) -> list[str]:
    given = graph.attributes.get("outputs")
    known = set(graph.ops)
    if isinstance(given, list) and all(isinstance(name, str) and name in known for name in given):
        return given
    used = set(graph.src.tolist())
    return [name for i, name in enumerate(graph.ops) if i not in used]


def _check_word(name: str) -> None:
    if name.split() != [name] or any(mark in name for mark in "#\\\0") or name.startswith("."):
        raise GraphError(
            f"name {short(name)} cannot stand in a BLIF file: it has blanks, '#' or '\\', or begins with '.'"
        )
