"""GML: nodes and edges as nested ``key value`` lists, read by our own tokeniser and kept in file order.

Operations are named by their labels if every node has one and no two are equal, else by their ids. Keys named like
properties (``type``, ``latency``, ``occupancy``, ``weight``, ``bits``; ``distance``, ``latency``, ``cost``) set them;
others become attributes. In the random-workload files a node's ``parameter`` is its weight, and an edge's says how
much data it carries: then ``cost`` is 1 if it is positive, and ``bits`` of the producer is the largest of its edges.

References
----------
Himsolt, "GML: A portable Graph File Format", Universitaet Passau, 1997.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gaus_lab.checks import number, short
from gaus_lab.errors import GraphError
from gaus_lab.files.records import EdgeRecord, NodeRecord, assemble, edge_records, graph_fields, op_records
from gaus_lab.files.scalars import LineIndex, scalar, typed, undirected
from gaus_lab.files.source import decode
from gaus_lab.graph import Graph

_TOKEN = re.compile(
    r'(?P<skip>[ \t\n]+|#[^\n]*)|(?P<open>\[)|(?P<close>\])|"(?P<text>[^"]*)"|(?P<word>[^\s\[\]"#]+)'
)
_TEXT_KEYS = ("label", "name", "type")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*\Z")


@dataclass
class _Block:
    """One ``[ ... ]``: its pairs in order, and where it began."""

    position: int
    pairs: list[tuple[str, Any]] = field(default_factory=list)

    def all(self, key: str) -> list[Any]:
        return [value for k, value in self.pairs if k.lower() == key]

    def get(self, key: str) -> Any:
        values = self.all(key)
        return values[-1] if values else None

    def plain(self, skip: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the pairs as a dict; a repeated key holds the list of its values."""
        result: dict[str, Any] = {}
        repeated: set[str] = set()
        for key, value in self.pairs:
            if key.lower() in skip:
                continue
            value = value.plain() if isinstance(value, _Block) else value
            if key in repeated:
                result[key].append(value)
            elif key in result:
                repeated.add(key)
                result[key] = [result[key], value]
            else:
                result[key] = value
        return result


def parse(data: bytes, where: str, name: str) -> Graph:
    """Return the graph in the bytes of a GML file."""
    text = decode(data, where)
    lines = LineIndex(text)
    top = _tree(text, where, lines)
    graphs = [block for block in top.all("graph") if isinstance(block, _Block)]
    if len(graphs) != 1:
        raise GraphError(f"{where}: the file must hold one 'graph [ ... ]', got {len(graphs)}")
    block = graphs[0]
    if block.get("directed") != 1:
        raise undirected(
            f"{where}:{lines.line(block.position)}", "no 'directed 1'", "add 'directed 1' to the graph"
        )
    reader = _Reader(block, where, lines)
    title = block.get("label") or block.get("name")
    attributes = block.plain(skip=("directed", "multigraph", "label", "node", "edge"))
    return assemble(where, str(title) if title else name, attributes, reader.ops(), reader.dependences())


def _tree(text: str, where: str, lines: LineIndex) -> _Block:
    """Return the file as nested blocks; a loop with a stack, so that depth costs nothing."""
    stack = [_Block(0)]
    key: str | None = None
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            place = f"{where}:{lines.line(position)}"
            raise GraphError(
                f"{place}: unexpected {short(text[position : position + 20])}; is a quote missing?"
            )
        kind, begin, position = match.lastgroup, position, match.end()
        if kind == "skip":
            continue
        if key is None and kind == "close" and len(stack) > 1:
            stack.pop()
        elif key is None and kind == "word" and _KEY.match(match["word"]):
            key = match["word"]
        elif key is None or kind == "close":
            place = f"{where}:{lines.line(begin)}"
            expected = "a key" if key is None else f"a value for {key!r}"
            raise GraphError(f"{place}: expected {expected}, got {short(match.group())}")
        else:
            value: Any = _value(match, kind, begin)
            stack[-1].pairs.append((key, value))
            if isinstance(value, _Block):
                stack.append(value)
            key = None
    if len(stack) > 1 or key is not None:
        open_at = lines.line(stack[-1].position)
        raise GraphError(
            f"{where}: the file ends inside the block that begins in line {open_at}; it is cut off"
        )
    return stack[0]


def _value(match: re.Match[str], kind: str | None, begin: int) -> Any:
    if kind == "open":
        return _Block(begin)
    return html.unescape(match["text"]) if kind == "text" else scalar(match["word"])


class _Reader:
    """Turns the blocks of one graph into records."""

    def __init__(self, block: _Block, where: str, lines: LineIndex) -> None:
        self.where, self.lines = where, lines
        self.nodes = self._blocks(block, "node")
        self.edges = self._blocks(block, "edge")
        self.names = self._names()

    def ops(self) -> Iterator[NodeRecord]:
        parameters = self._edge_parameters()
        for node, (key, name) in zip(self.nodes, self.names.items(), strict=True):
            fields, place = _fields(node, ("id",)), self._place(node)
            if str(fields.get("label")) == name:
                del fields["label"]
            if "parameter" in fields:
                fields.setdefault("weight", number(fields["parameter"], f"{place}: node {name}: parameter"))
            if key in parameters:
                fields.setdefault("bits", parameters[key])
            yield place, name, fields

    def dependences(self) -> Iterator[EdgeRecord]:
        for edge in self.edges:
            place = self._place(edge)
            src, dst = (self._end(edge, key, place) for key in ("source", "target"))
            fields = _fields(edge, ("source", "target"))
            if "parameter" in fields:
                value = number(fields["parameter"], f"{place}: edge ({src} -> {dst}): parameter")
                fields.setdefault("cost", int(value > 0))
            yield place, src, dst, fields

    def _end(self, edge: _Block, key: str, place: str) -> str:
        end = _id(edge.get(key))
        if isinstance(end, _Block) or end not in self.names:
            shown = short(end, render=str)
            raise GraphError(f"{place}: {key} of an edge is {shown}, but no node has that id; declare it")
        return self.names[end]

    def _edge_parameters(self) -> dict[Any, Any]:
        """Return the largest `parameter` among the edges of each producer that has one."""
        largest: dict[Any, Any] = {}
        for edge in self.edges:
            if (value := edge.get("parameter")) is not None:
                value = number(value, f"{self._place(edge)}: parameter of an edge")
                source = _id(edge.get("source"))
                largest[source] = max(value, largest.get(source, value))
        return largest

    def _names(self) -> dict[Any, str]:
        """Return id -> name: the labels if all nodes have one and they differ, else the ids."""
        ids: dict[Any, str] = {}
        for node in self.nodes:
            key = _id(node.get("id"))
            if key is None or isinstance(key, _Block):
                raise GraphError(f"{self._place(node)}: a node has no id; every node needs one")
            if key in ids:
                raise GraphError(f"{self._place(node)}: node id {key} is declared twice; ids must be unique")
            ids[key] = str(key)
        labels = [node.get("label") for node in self.nodes]
        usable = all(isinstance(label, str | int | float) and label != "" for label in labels)
        texts = [str(label) for label in labels]
        return dict(zip(ids, texts, strict=True)) if usable and len(set(texts)) == len(texts) else ids

    def _blocks(self, block: _Block, key: str) -> list[_Block]:
        records = block.all(key)
        for record in records:
            if not isinstance(record, _Block):
                raise GraphError(f"{self.where}: {key} must be a block '[ ... ]', got {short(record)}")
        return records

    def _place(self, block: _Block) -> str:
        return f"{self.where}:{self.lines.line(block.position)}"


def _fields(block: _Block, skip: tuple[str, ...]) -> dict[str, Any]:
    """Return a block's pairs; a quoted number counts as one, but names, labels and types are text."""
    return {
        key: typed(value)
        if isinstance(value, str) and key not in _TEXT_KEYS
        else str(value)
        if key == "type"
        else value
        for key, value in block.plain(skip=skip).items()
    }


def _id(value: Any) -> Any:
    """Return an id so that 7 and "7" are the same."""
    return typed(value) if isinstance(value, str) else value


def render(graph: Graph) -> str:
    """Return the graph as GML text; nodes are numbered, and labelled by the operations' names."""
    lines = ["graph [", "  directed 1", "  multigraph 1", f"  label {_quoted(graph.name)}"]
    for key, value in graph_fields(graph).items():
        lines += _pair(graph, key, value, "  ")
    for i, (name, fields) in enumerate(op_records(graph)):
        lines += ["  node [", f"    id {i}", f"    label {_quoted(name)}"]
        for key, value in fields.items():
            lines += _pair(graph, key, value, "    ")
        lines.append("  ]")
    for _, (_, _, fields), src, dst in zip(
        range(graph.n_edges), edge_records(graph), graph.src.tolist(), graph.dst.tolist(), strict=True
    ):
        lines += ["  edge [", f"    source {src}", f"    target {dst}"]
        for key, value in fields.items():
            lines += _pair(graph, key, value, "    ")
        lines.append("  ]")
    return "\n".join([*lines, "]"]) + "\n"


def _pair(graph: Graph, key: str, value: Any, indent: str) -> list[str]:
    if not _KEY.match(key):
        raise GraphError(
            f"graph {graph.name!r}: GML keys are letters and digits, not {short(key)}; write JSON"
        )
    if isinstance(value, bool):
        return [f"{indent}{key} {int(value)}"]
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return [f"{indent}{key} {value!r}"]
    if isinstance(value, str):
        return [f"{indent}{key} {_quoted(value)}"]
    if isinstance(value, dict):
        inner = [line for k, v in value.items() for line in _pair(graph, str(k), v, indent + "  ")]
        return [f"{indent}{key} [", *inner, f"{indent}]"]
    if isinstance(value, list | tuple):
        return [line for item in value for line in _pair(graph, key, item, indent)]
    raise GraphError(f"graph {graph.name!r}: attribute {key} is {short(value)}, which GML cannot express")


def _quoted(text: str) -> str:
    """Return a GML string: the format keeps quotes, ampersands and all beyond ASCII as entities."""
    escaped = text.replace("&", "&amp;").replace('"', "&quot;").replace("\r", "&#13;").replace("\0", "&#0;")
    return '"' + escaped + '"'
