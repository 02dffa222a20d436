"""AIGER, binary and ASCII, with the 1.9 sections; one operation per input and per AND, counted as in the literature.

Types are ``input``, ``and``, ``const`` (an output tied to a constant), ``buf`` (an output wired to an input or latch,
or a further output on the same literal) and ``latch``; all share the resource ``op``. A latch is no operation: it
becomes distance on the edges through it. Only a ring of latches without logic stays, as one operation ``latch``.

References
----------
Biere, "The AIGER And-Inverter Graph (AIG) Format", 2007; Biere, Heljanko, Wieringa, "AIGER 1.9", 2011.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.checks import short
from gaus_lab.errors import GraphError
from gaus_lab.files.aiger_binary import binary_ands
from gaus_lab.files.aiger_text import Lines, read_symbols
from gaus_lab.graph import Graph
from gaus_lab.graph.core import PRODUCER_LATENCY

IntArray = NDArray[np.int64]

_TYPES = ("input", "and", "const", "buf", "latch")
_INPUT, _AND, _CONST, _BUF, _LATCH = range(5)
_NAMED = ("output", "latch", "bad", "constraint", "justice", "fairness")
_COUNTS = ["M", "I", "L", "O", "A", "B", "C", "J", "F"]


@dataclass
class _Circuit:
    """The literals of a file; ``ands`` has columns lhs, rhs0, rhs1."""

    inputs: IntArray
    latches: dict[int, int]  # variable -> next-state literal
    outputs: list[int]
    ands: IntArray
    sections: dict[str, list[Any]] = field(default_factory=dict)  # of literals; justice has lists of them
    symbols: dict[str, dict[int, str]] = field(default_factory=dict)


def parse(data: bytes, where: str, name: str) -> Graph:
    """Return the graph of an AIGER file's bytes."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    lines = Lines(data, where)
    binary, counts = _header(lines, len(data))
    read = _read_binary if binary else _read_ascii
    circuit = read(lines, counts)
    circuit.symbols = read_symbols(lines)
    return _graph(circuit, where, name)


def _header(lines: Lines, size: int) -> tuple[bool, dict[str, int]]:
    """Return whether the file is binary, and its counts, which its size must bear out."""
    words = lines.next_words("the header", limit=200)
    if not words or words[0] not in ("aig", "aag"):
        found = short(" ".join(words))
        raise GraphError(f"{lines.where}:1: an AIGER file begins with 'aig' or 'aag', got {found}")
    values = [
        lines.number(word, f"header count {key}") for key, word in zip(_COUNTS, words[1:], strict=False)
    ]
    if not 5 <= len(words) - 1 <= 9:
        raise GraphError(
            f"{lines.where}:1: the header needs 5 to 9 counts (M I L O A B C J F), got {len(words) - 1}"
        )
    counts = dict.fromkeys(_COUNTS, 0) | dict(zip(_COUNTS, values, strict=False))
    binary = words[0] == "aig"
    _check_counts(binary, counts, size, lines.where)
    lines.largest = 2 * counts["M"] + 1
    return binary, counts


def _check_counts(binary: bool, counts: dict[str, int], size: int, where: str) -> None:
    """Check what the header promises, so that nothing is allocated on its word alone."""
    defined = counts["I"] + counts["L"] + counts["A"]
    if binary and counts["M"] != defined:
        raise GraphError(
            f"{where}:1: binary AIGER needs M = I + L + A, got M {counts['M']} and I + L + A = {defined}"
        )
    # Each of them takes two bytes at least, but for the inputs of a binary file, which take none.
    promised = 2 * (sum(counts[key] for key in "LOABCJF") + (0 if binary else counts["I"]))
    if promised > size:
        raise GraphError(
            f"{where}:1: the header promises at least {promised} bytes of sections, the file has {size}; it is cut off"
        )
    if binary and counts["I"] > max(2**16, size):
        raise GraphError(f"{where}:1: {counts['I']} inputs in a file of {size} bytes; the header is damaged")


def _read_binary(lines: Lines, counts: dict[str, int]) -> _Circuit:
    inputs = 2 * np.arange(1, counts["I"] + 1)
    latches = {
        counts["I"] + 1 + k: literals[0]
        for k, literals in enumerate(lines.literals(counts["L"], 1, "latch", 2))
    }
    outputs, sections = _read_sections(lines, counts)
    first = 2 * (counts["I"] + counts["L"] + 1)
    ands, lines.position = binary_ands(lines.data, lines.position, counts["A"], first, lines.where)
    return _Circuit(inputs, latches, outputs, ands, sections)


def _read_ascii(lines: Lines, counts: dict[str, int]) -> _Circuit:
    begin = lines.number_of_line
    inputs = [row[0] for row in lines.literals(counts["I"], 1, "input", 1)]
    latches = list(lines.literals(counts["L"], 2, "latch", 3))
    definitions = list(enumerate(inputs + [row[0] for row in latches], begin))
    outputs, sections = _read_sections(lines, counts)
    begin = lines.number_of_line
    ands = list(lines.literals(counts["A"], 3, "AND", 3))
    _check_definitions([*definitions, *enumerate((row[0] for row in ands), begin)], lines.where)
    return _Circuit(
        np.array(inputs, dtype=np.int64),
        {row[0] // 2: row[1] for row in latches},
        outputs,
        np.array(ands, dtype=np.int64).reshape(-1, 3),
        sections,
    )


def _read_sections(lines: Lines, counts: dict[str, int]) -> tuple[list[int], dict[str, list[Any]]]:
    """Return outputs, and the 1.9 sections that are there: bad, constraints, justice, fairness."""
    outputs = [row[0] for row in lines.literals(counts["O"], 1, "output", 1)]
    sections: dict[str, list[Any]] = {}
    for key, count in (("bad", "B"), ("constraints", "C")):
        if counts[count]:
            sections[key] = [row[0] for row in lines.literals(counts[count], 1, key, 1)]
    if counts["J"]:
        sizes = [row[0] for row in lines.literals(counts["J"], 1, "justice size", 1, most_value=10**12)]
        sections["justice"] = [[row[0] for row in lines.literals(size, 1, "justice", 1)] for size in sizes]
    if counts["F"]:
        sections["fairness"] = [row[0] for row in lines.literals(counts["F"], 1, "fairness", 1)]
    return outputs, sections


def _check_definitions(definitions: list[tuple[int, int]], where: str) -> None:
    """Check that every variable is defined once, by an even literal; `definitions` are (line, literal)."""
    seen: set[int] = set()
    for line, literal in definitions:
        if literal % 2 == 0 and literal > 0 and literal not in seen:
            seen.add(literal)
            continue
        if literal < 2:
            what = f"literal {literal} cannot be defined: it is a constant"
        elif literal % 2:
            what = f"literal {literal} cannot be defined: it is odd, an inverted signal"
        else:
            what = f"variable {literal // 2} (literal {literal}) is defined twice"
        raise GraphError(f"{where}:{line}: {what}")


# ---- from literals to a graph -----------------------------------------------------------------------------


class _Assembly:
    """Operations and edges as they come; `origin` maps a variable to its producer and the latches on the way."""

    def __init__(self, circuit: _Circuit, where: str) -> None:
        self.where = where
        self.names = [f"v{v}" for v in (circuit.inputs // 2).tolist()]
        self.names += [f"v{v}" for v in (circuit.ands[:, 0] // 2).tolist()]
        self.kinds = [_INPUT] * len(circuit.inputs) + [_AND] * len(circuit.ands)
        variables = np.concatenate([circuit.inputs, circuit.ands[:, 0]]) // 2
        self.index = dict(zip(variables.tolist(), range(len(variables)), strict=True))
        self.index[0] = -1  # the constant is no producer
        self.ring_edges: list[tuple[int, int, int]] = []
        self.through: dict[int, tuple[int, int]] = {}
        for variable in circuit.latches:
            self._resolve(variable, circuit.latches)

    def producer(self, literal: int) -> tuple[int, int]:
        """Return (operation, distance) behind a literal; operation -1 for a constant."""
        variable = literal // 2
        if variable in self.through:
            return self.through[variable]
        if variable not in self.index:
            raise GraphError(
                f"{self.where}: variable {variable} (literal {literal}) is used, but no input, latch or AND defines it"
            )
        return self.index[variable], 0

    def _resolve(self, variable: int, latches: dict[int, int]) -> None:
        """Follow a chain of latches to its producer: every latch on the way is a distance of 1."""
        path: dict[int, None] = {}
        at = variable
        while at in latches and at not in self.through:
            if at in path:
                latches_met = list(path)
                self._close_ring(latches_met[latches_met.index(at) :])
                return self._resolve(variable, latches)
            path[at] = None
            at = latches[at] // 2
        op, distance = self.producer(2 * at)
        for latch in reversed(path):
            distance += 1
            self.through[latch] = (op, distance)
        return None

    def _close_ring(self, ring: list[int]) -> None:
        """Make one operation of a ring of latches without logic; it stands for its first latch."""
        op = self.add(f"v{min(ring)}", _LATCH)
        self.through[min(ring)] = (op, 0)
        self.ring_edges.append((op, op, len(ring)))

    def add(self, name: str, kind: int) -> int:
        self.names.append(name)
        self.kinds.append(kind)
        return len(self.names) - 1


def _graph(circuit: _Circuit, where: str, name: str) -> Graph:
    assembly = _Assembly(circuit, where)
    src, dst, distance = _and_edges(circuit, assembly)
    output_edges = _add_outputs(circuit, assembly)
    for literal in _watched(circuit.sections):
        assembly.producer(literal)
    extra = np.array(output_edges + assembly.ring_edges, dtype=np.int64).reshape(-1, 3)
    src, dst, distance = (np.concatenate([a, extra[:, k]]) for k, a in enumerate((src, dst, distance)))
    kinds = np.array(assembly.kinds, dtype=np.int64)
    ones = np.ones(len(kinds), dtype=np.int64)
    used = sorted(set(assembly.kinds))
    try:
        return Graph(
            name,
            tuple(assembly.names),
            tuple(_TYPES[k] for k in used),
            np.searchsorted(used, kinds) if used else kinds,
            ones,
            ones,
            ones,
            ones,
            src,
            dst,
            distance,
            np.full(len(src), PRODUCER_LATENCY),
            np.ones(len(src), dtype=np.int64),
            resource_of_type={_TYPES[k]: "op" for k in used},
            attributes={"outputs": circuit.outputs, **circuit.sections, **_signal_symbols(circuit)},
            op_attributes=_op_symbols(circuit, assembly),
        )
    except GraphError as error:
        raise GraphError(f"{where}: {error}") from None


def _watched(sections: dict[str, list[Any]]) -> Iterator[int]:
    """Yield the literals of the 1.9 sections, which must be defined like any other."""
    for key, literals in sections.items():
        yield from chain.from_iterable(literals) if key == "justice" else literals


def _and_edges(circuit: _Circuit, assembly: _Assembly) -> tuple[IntArray, IntArray, IntArray]:
    """Return the edges from both fan-ins of every AND, in file order; constants drive none."""
    ands = circuit.ands
    sinks = np.repeat(len(circuit.inputs) + np.arange(len(ands)), 2)
    fan_ins = ands[:, 1:].reshape(-1)
    variables, place = np.unique(fan_ins // 2, return_inverse=True)
    found = [assembly.producer(2 * v) for v in variables.tolist()]
    producers = np.array(found, dtype=np.int64).reshape(-1, 2)[place]
    keep = producers[:, 0] >= 0
    return producers[keep, 0], sinks[keep], producers[keep, 1]


def _add_outputs(circuit: _Circuit, assembly: _Assembly) -> list[tuple[int, int, int]]:
    """Add the constant and buffer operations of the outputs; return the edges into the buffers."""
    edges, seen = [], set()
    for k, literal in enumerate(circuit.outputs):
        op, distance = assembly.producer(literal)
        if op < 0:
            assembly.add(f"o{k}", _CONST)
        elif distance or assembly.kinds[op] != _AND or literal in seen:
            edges.append((op, assembly.add(f"o{k}", _BUF), distance))
        else:
            seen.add(literal)
    return edges


def _op_symbols(circuit: _Circuit, assembly: _Assembly) -> dict[str, dict[int, str]]:
    symbols = {k: text for k, text in circuit.symbols.get("i", {}).items() if k < len(circuit.inputs)}
    of_outputs = circuit.symbols.get("o", {})
    for i in range(len(circuit.inputs) + len(circuit.ands), len(assembly.names)):
        name = assembly.names[i]
        if name.startswith("o") and int(name[1:]) in of_outputs:
            symbols[i] = of_outputs[int(name[1:])]
    return {"symbol": symbols} if symbols else {}


def _signal_symbols(circuit: _Circuit) -> dict[str, dict[str, str]]:
    """Return the symbols of what is no operation, by position; as text, since JSON knows no other keys."""
    names = {f"{key}_symbols": circuit.symbols.get(key[0], {}) for key in _NAMED}
    return {name: {str(k): text for k, text in of.items()} for name, of in names.items() if of}


def render(graph: Graph) -> str:
    """Raise `GraphError`: a data-flow graph is no and-inverter graph, so AIGER is read only."""
    raise GraphError(
        f"graph {graph.name!r} cannot be written as AIGER, which is read only; write JSON, GML or DOT"
    )
