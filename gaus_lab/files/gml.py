"""GML: nodes and edges as nested ``key value`` lists, read by our own tokeniser and kept in file order.

Operations are named by their labels if every node has one and no two are equal, else by their ids. Keys named like
properties (``type``, ``latency``, ``occupancy``, ``weight``, ``bits``; ``distance``, ``latency``, ``cost``) set them;
others become attributes. In the random-workload files a node's ``parameter`` is its weight, and an edge's says how
much data it carries: then ``cost`` is 1 if it is positive, and ``bits`` of the producer is the largest of its edges.
A node's ``label_`` is an attribute ``label`` where the label is the name.

References
----------
Himsolt, "GML: A portable Graph File Format", Universitaet Passau, 1997.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gaus_lab.checks import number, short
from gaus_lab.errors import GraphError
from gaus_lab.files.gml_text import GRAPH_KEYS, KEY, LABEL, MAX_DEPTH, TEXT_KEYS, render
from gaus_lab.files.records import EdgeRecord, NodeRecord, assemble
from gaus_lab.files.scalars import LineIndex, scalar, typed, undirected
from gaus_lab.files.source import decode
from gaus_lab.graph import Graph

__all__ = ["parse", "render"]

_BLANK = re.compile(r"(?:[ \t\n]++|#[^\n]*+)*+")
_TOKEN = re.compile(r'(?P<open>\[)|(?P<close>\])|"(?P<text>[^"]*+)"|(?P<word>[^\s\[\]"#]++)')
#: A character by its name or code, of no more digits than there are characters.
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


@dataclass
class _Block:
    """One ``[ ... ]``: its pairs in order, and where it began. Keys are found in any case."""

    position: int
    pairs: list[tuple[str, Any]] = field(default_factory=list)

    def all(self, key: str) -> list[Any]:
        """Return the values of a key."""
        return [value for k, value in self.pairs if k == key or k.lower() == key]

    def get(self, key: str) -> Any:
        """Return the last value of a key, None without one."""
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
    title = next((t for t in (block.get("label"), block.get("name")) if _is_label(t)), name)
    attributes = block.plain(skip=GRAPH_KEYS)
    return assemble(where, str(title), attributes, reader.ops(), reader.dependences())


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | float) and value != ""


def _tree(text: str, where: str, lines: LineIndex) -> _Block:
    """Return the file as nested blocks."""
    stack = [_Block(0)]
    key: str | None = None
    position = _blank(text, 0)
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            place = f"{where}:{lines.line(position)}"
            raise GraphError(
                f"{place}: unexpected {short(text[position : position + 20])}; is a quote missing?"
            )
        if key is not None and match.lastgroup != "close":
            value = _value(match)
            stack[-1].pairs.append((key, value))
            if isinstance(value, _Block):
                stack.append(value)
                _check_depth(stack, where, lines)
            key = None
        elif match.lastgroup == "close" and key is None and len(stack) > 1:
            stack.pop()
        elif match.lastgroup == "word" and KEY.match(match["word"]):
            key = match["word"]
        else:
            expected = "a key" if key is None else f"a value for {short(key)}"
            place = f"{where}:{lines.line(position)}"
            raise GraphError(f"{place}: expected {expected}, got {short(match.group())}")
        position = _blank(text, match.end())
    if len(stack) > 1 or key is not None:
        begin = lines.line(stack[-1].position)
        raise GraphError(
            f"{where}: the file ends inside the block that begins in line {begin}; it is cut off"
        )
    return stack[0]


def _blank(text: str, position: int) -> int:
    """Return the position behind white space and comments."""
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _check_depth(stack: list[_Block], where: str, lines: LineIndex) -> None:
    if len(stack) > MAX_DEPTH:
        line = lines.line(stack[-1].position)
        raise GraphError(f"{where}:{line}: blocks nest deeper than {MAX_DEPTH} levels; flatten them")


def _value(match: re.Match[str]) -> Any:
    if match.lastgroup == "open":
        return _Block(match.start())
    if match.lastgroup == "text":
        return _ENTITY.sub(lambda entity: html.unescape(entity.group()), match["text"])
    return scalar(match["word"])


class _Reader:
    """Turns the blocks of one graph into records."""

    def __init__(self, block: _Block, where: str, lines: LineIndex) -> None:
        self.where, self.lines = where, lines
        self.nodes = self._blocks(block, "node")
        self.edges = self._blocks(block, "edge")
        self.names = self._names()

    def ops(self) -> Iterator[NodeRecord]:
        """Yield the nodes in file order."""
        parameters = self._edge_parameters()
        for node, (key, name) in zip(self.nodes, self.names.items(), strict=True):
            fields, place = _fields(node, ("id",)), self._place(node)
            if str(fields.get("label")) == name:
                del fields["label"]
            if LABEL in fields:
                fields["label"] = fields.pop(LABEL)
            if "parameter" in fields:
                fields.setdefault("weight", number(fields["parameter"], f"{place}: node {name}: parameter"))
            if key in parameters:
                fields.setdefault("bits", parameters[key])
            yield place, name, fields

    def dependences(self) -> Iterator[EdgeRecord]:
        """Yield the edges in file order."""
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
            shown = "a block" if isinstance(end, _Block) else short(end, render=str)
            raise GraphError(f"{place}: {key} of an edge is {shown}, but no node has that id; declare it")
        return self.names[end]

    def _edge_parameters(self) -> dict[Any, Any]:
        """Return the largest `parameter` among the edges of each producer that has one."""
        largest: dict[Any, Any] = {}
        for edge in self.edges:
            if (value := edge.get("parameter")) is not None:
                value = number(value, f"{self._place(edge)}: parameter of an edge")
                source = _id(edge.get("source"))
                if not isinstance(source, _Block):  # refused later
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
        usable = all(map(_is_label, labels))
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
    fields = block.plain(skip=skip)
    for key, value in fields.items():
        if isinstance(value, str) and key not in TEXT_KEYS:
            fields[key] = typed(value)
    if "type" in fields:
        fields["type"] = str(fields["type"])
    return fields


def _id(value: Any) -> Any:
    """Return an id so that 7 and "7" are the same."""
    return typed(value) if isinstance(value, str) else value
