"""GraphML, read event by event with expat; document types and entities are refused, nothing outside is fetched.

Names come from node ids, attributes by their ``attr.name``, defaults reach every node or edge. Nested graphs are
flattened. Keys named like properties set them, as in the other formats.

References
----------
Brandes, Eiglsperger, Herman, Himsolt, Marshall, "GraphML progress report", GD 2001; the GraphML primer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from gaus_lab.checks import short
from gaus_lab.errors import GraphError
from gaus_lab.files.records import EdgeRecord, NodeRecord, assemble, edge_records, graph_fields, op_records
from gaus_lab.files.scalars import scalar, typed, undirected
from gaus_lab.graph import Graph

_DOMAINS = ("graph", "node", "edge")
#: What defaults may stand for, in values.
_MAX_IMPLIED = 10_000_000
#: Characters that no XML 1.0 document may hold, and how a carriage return is kept from becoming a line feed.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RETURN = {"\r": "&#13;"}


@dataclass
class _Key:
    name: str
    domain: str
    kind: str
    default: Any = None


@dataclass
class _Open:
    """An element that collects data: graph, node or edge."""

    tag: str
    attributes: dict[str, str]
    line: int
    fields: dict[str, Any] = field(default_factory=dict)


def parse(data: bytes, where: str, name: str) -> Graph:
    """Return the graph in the bytes of a GraphML file."""
    reader = _Reader(where)
    reader.feed(data)
    if not reader.graphs:
        raise GraphError(f"{where}: the file holds no <graph> element")
    root = reader.graphs[0]
    title = root.fields.pop("name", None) or root.attributes.get("id") or name
    return assemble(where, str(title), root.fields, reader.nodes(), reader.edges())


class _Reader:
    """Collects keys, nodes and edges while expat walks through the file."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.keys: dict[str, _Key] = {}
        self.graphs: list[_Open] = []
        self.items: dict[str, list[_Open]] = {"node": [], "edge": []}
        self._open: list[_Open] = []
        self._key: str | None = None
        self._data: str | None = None
        self._text: list[str] | None = None
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse

    def feed(self, data: bytes) -> None:
        """Walk through the bytes of a file."""
        try:
            self._parser.Parse(data, True)
        except GraphError:
            raise
        except (LookupError, ValueError) as error:  # what Python says of encodings that it cannot use
            raise self._fail(
                f"the encoding cannot be read: {short(error, render=str)}; save the file as UTF-8"
            ) from None
        except expat.ExpatError as error:
            what = expat.errors.messages[error.code]
            raise GraphError(
                f"{self.where}:{error.lineno}: not well-formed XML: {what}; mend the file"
            ) from None

    def _line(self) -> int:
        return self._parser.CurrentLineNumber

    def _fail(self, what: str, line: int | None = None) -> GraphError:
        return GraphError(f"{self.where}:{self._line() if line is None else line}: {what}")

    def _refuse(self, *_: Any) -> None:
        raise self._fail("document types and entities are not read; remove the DOCTYPE")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rsplit(" ", 1)[-1]
        if tag == "key":
            self._start_key(attributes)
        elif tag in ("default", "data"):
            self._data = attributes.get("key") if tag == "data" else None
            self._text = []
        elif tag == "hyperedge":
            raise self._fail("hyperedges are not read; write one edge for each pair")
        elif tag in _DOMAINS:
            self._open.append(_Open(tag, attributes, self._line()))
            if tag == "graph":
                if self.graphs and len(self._open) == 1:
                    raise self._fail("a second <graph>; one graph a file")
                self._check_directed(attributes.get("edgedefault", "directed"), "edgedefault")
                self.graphs.append(self._open[-1])
            else:
                self._check_directed(
                    "undirected" if attributes.get("directed") == "false" else "directed", tag
                )
                self.items[tag].append(self._open[-1])

    def _check_directed(self, value: str, what: str) -> None:
        if value == "undirected":
            raise undirected(f"{self.where}:{self._line()}", what, 'set edgedefault="directed"')

    def _start_key(self, attributes: dict[str, str]) -> None:
        self._key = attributes.get("id")
        if self._key is None:
            raise self._fail("a <key> has no id")
        name = attributes.get("attr.name", self._key)
        self.keys[self._key] = _Key(name, attributes.get("for", "all"), attributes.get("attr.type", ""))

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end(self, tag: str) -> None:
        tag = tag.rsplit(" ", 1)[-1]
        if tag in ("default", "data"):
            text = "".join(self._text or [])
            self._text = None
            self._store(tag, text)
        elif tag == "key":
            self._key = None
        elif tag in _DOMAINS:
            self._open.pop()

    def _store(self, tag: str, text: str) -> None:
        if tag == "default" and self._key is not None:
            key = self.keys[self._key]
            key.default = _value(text, key.kind)
        elif tag == "data" and self._open:
            key = self.keys.get(self._data or "") or _Key(self._data or "", "all", "")
            if not key.name:
                raise self._fail("a <data> has no key")
            self._open[-1].fields[key.name] = _value(text, key.kind)

    def _defaults(self, tag: str) -> dict[str, Any]:
        """Return the defaults of all nodes or edges; a few lines could stand for more than fits in memory."""
        defaults = {
            key.name: key.default
            for key in self.keys.values()
            if key.default is not None and key.domain in (tag, "all")
        }
        if len(defaults) * len(self.items[tag]) > _MAX_IMPLIED:
            raise GraphError(
                f"{self.where}: the defaults of {len(defaults)} keys stand for more than {_MAX_IMPLIED} values; "
                "remove the defaults that are not needed"
            )
        return defaults

    def nodes(self) -> Iterator[NodeRecord]:
        """Yield the nodes of all graphs, in file order."""
        defaults = self._defaults("node")
        for item in self.items["node"]:
            if "id" not in item.attributes:
                raise self._fail("a <node> has no id", item.line)
            yield f"{self.where}:{item.line}", item.attributes["id"], defaults | item.fields

    def edges(self) -> Iterator[EdgeRecord]:
        """Yield the edges of all graphs, in file order."""
        defaults = self._defaults("edge")
        for item in self.items["edge"]:
            src, dst = (item.attributes.get(key) for key in ("source", "target"))
            if src is None or dst is None:
                raise self._fail("an <edge> needs source and target", item.line)
            yield f"{self.where}:{item.line}", src, dst, defaults | item.fields


def _value(text: str, kind: str) -> Any:
    """Return a value as its key declares it; text that does not fit stays text, and the property's check names it."""
    stripped = text.strip()
    if kind in ("int", "long"):
        return typed(stripped)
    if kind in ("float", "double"):
        return scalar(stripped)
    if kind == "boolean":
        return {"true": True, "1": True, "false": False, "0": False}.get(stripped.lower(), stripped)
    return text if kind == "string" else typed(stripped)


# ---- writing ----------------------------------------------------------------------------------------------


class _Keys:
    """Hands out the keys of the attributes that are written."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._ids: dict[tuple[str, str, str], str] = {}

    def data(self, domain: str, name: str, value: Any, indent: str) -> str:
        """Return a <data> element."""
        kind = _kind(name, value)
        if kind is None:
            raise GraphError(
                f"graph {self._graph.name!r}: attribute {short(name)} is {short(value)}, which GraphML cannot "
                "express; write JSON"
            )
        key = self._ids.setdefault((domain, name, kind), f"k{len(self._ids)}")
        return f'{indent}<data key="{key}">{escape(_spelled(value), _RETURN)}</data>'

    def declarations(self) -> list[str]:
        """Return the <key> elements of all that was written."""
        return [
            f'  <key id="{key}" for="{domain}" attr.name={quoteattr(name)} attr.type="{kind}"/>'
            for (domain, name, kind), key in self._ids.items()
        ]


def _kind(name: str, value: Any) -> str | None:
    """Return the ``attr.type`` with which the reader gives a value back, None if there is none."""
    if not isinstance(name, str) or not name or _NO_XML.search(name):
        return None
    if isinstance(value, str):
        return None if _NO_XML.search(value) else "string"
    for python, kind in ((bool, "boolean"), (int, "long"), (float, "double")):
        if isinstance(value, python):
            return kind if _value(_spelled(value), kind) == value else None
    return None


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(float(value))
    return short(value, 400) if isinstance(value, int) else str(value)


def _expressible(key: str, value: Any) -> bool:
    """Return whether a graph's attribute can stand as one; ``name`` would be the graph's name."""
    return key != "name" and _kind(key, value) is not None


def render(graph: Graph) -> str:
    """Return the graph as GraphML text.

    Raises
    ------
    GraphError
        An attribute of an operation or edge that is no boolean, text or finite number; a name with characters that
        XML forbids.
    """
    keys = _Keys(graph)
    body = [f'  <graph id={_id(graph, graph.name)} edgedefault="directed">']
    for name, value in graph_fields(graph, _expressible).items():
        body.append(keys.data("graph", name, value, "    "))
    for op, fields in op_records(graph):
        body.append(f"    <node id={_id(graph, op)}>")
        body += [keys.data("node", name, value, "      ") for name, value in fields.items()]
        body.append("    </node>")
    for src, dst, fields in edge_records(graph):
        body.append(f"    <edge source={quoteattr(src)} target={quoteattr(dst)}>")
        body += [keys.data("edge", name, value, "      ") for name, value in fields.items()]
        body.append("    </edge>")
    head = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
    ]
    return "\n".join([*head, *keys.declarations(), *body, "  </graph>", "</graphml>"]) + "\n"


def _id(graph: Graph, name: str) -> str:
    if _NO_XML.search(name):
        raise GraphError(
            f"graph {graph.name!r}: the name {short(name)} has characters that XML forbids; write JSON"
        )
    return quoteattr(name)
