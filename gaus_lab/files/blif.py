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


@dataclass
class _Netlist:
    """What a file declares; a driver is (kind, fan-in signals, line)."""

    name: str | None = None
    drivers: dict[str, tuple[str, list[str], int]] = field(default_factory=dict)
    outputs: list[tuple[str, int]] = field(default_factory=list)


def parse(data: bytes, where: str, name: str) -> Graph:
    """Return the graph in the bytes of a BLIF file."""
    netlist = _read(decode(data, where), where)
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


def _read(text: str, where: str) -> _Netlist:
    netlist = _Netlist()
    in_cover: int | None = None
    declared = False
    for line, (head, *rest) in _lines(text):
        place = f"{where}:{line}"
        if not head.startswith("."):
            _check_cover(head, rest, in_cover, place)
            continue
        declared, in_cover = True, None
        if head == ".end":
            break
        if head == ".model":
            if netlist.name is not None:
                raise GraphError(f"{place}: a second .model; hierarchy is not read, flatten the design first")
            netlist.name = rest[0] if rest else None
        elif head in (".inputs", ".input"):
            for signal in rest:
                _drive(netlist, signal, "input", [], line, where)
        elif head in (".outputs", ".output"):
            netlist.outputs += [(signal, line) for signal in rest]
        elif head == ".names":
            if not rest:
                raise GraphError(f"{place}: .names needs at least the signal that it drives")
            in_cover = len(rest) - 1
            _drive(netlist, rest[-1], "logic" if in_cover else "const", rest[:-1], line, where)
        elif head == ".latch":
            if not 2 <= len(rest) <= 5:
                raise GraphError(
                    f"{place}: .latch needs 'input output [type control] [init]', got {len(rest)} words"
                )
            _drive(netlist, rest[1], "latch", rest[:1], line, where)
        elif head in _HIERARCHY:
            raise GraphError(
                f"{place}: {head} is not read: flatten the design to .names first (e.g. with ABC)"
            )
        else:
            warnings.warn(f"{place}: directive {head} is ignored", GausLabWarning, stacklevel=4)
    if not declared:
        raise GraphError(f"{where}: the file holds no BLIF model")
    return netlist


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


def _drive(netlist: _Netlist, signal: str, kind: str, fan_in: list[str], line: int, where: str) -> None:
    if signal in netlist.drivers:
        first = netlist.drivers[signal][2]
        raise GraphError(
            f"{where}:{line}: signal {signal!r} is driven twice, first in line {first}; keep one driver"
        )
    netlist.drivers[signal] = (kind, fan_in, line)


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

    Raises
    ------
    GraphError
        The graph has properties that BLIF cannot express (only the dependences of distance 0 fit).
    """
    kept = ("type", "symbol")
    refuse_losses(graph, "BLIF", keeps=kept)
    operands: dict[int, list[int]] = {}
    for src, dst in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
        operands.setdefault(dst, []).append(src)
    used = set(graph.src.tolist())
    for name in (graph.name, *graph.ops):
        if not name or any(c.isspace() or c in "#\\" for c in name) or name.startswith("."):
            raise GraphError(
                f"name {name!r} cannot stand in a BLIF file: it has blanks, '#' or '\\', or begins with '.'"
            )
    consts = {i for i in range(graph.n_ops) if graph.type_of(i) == "const"}
    inputs = [graph.ops[i] for i in range(graph.n_ops) if i not in operands and i not in consts]
    outputs = [graph.ops[i] for i in range(graph.n_ops) if i not in used]
    lines = [f".model {graph.name}", ".inputs " + " ".join(inputs), ".outputs " + " ".join(outputs)]
    lines += [f".names {graph.ops[i]}" for i in sorted(consts) if i not in operands]
    for i, sources in sorted(operands.items()):
        lines.append(".names " + " ".join(graph.ops[s] for s in sources) + f" {graph.ops[i]}")
        lines.append("1" * len(sources) + " 1")
    return "\n".join([*lines, ".end"]) + "\n"
