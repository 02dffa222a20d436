"""DOT: nodes, edge chains, subgraphs, defaults and ports, parsed with a stack instead of recursion.

Attributes named like properties set them. Without ``type`` the type is ``op``, or else a label of one word, stripped
and in lower case, that is not the node's own name: so the EXPRESS data-flow graphs say what an operation is.

References
----------
Graphviz, "DOT language": grammar and scoping of defaults. UCSB EXPRESS benchmarks, for the labels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from gaus_lab.checks import short
from gaus_lab.errors import GraphError
from gaus_lab.files.dot_tokens import NAMES, Token, Tokens
from gaus_lab.files.records import assemble, edge_records, graph_fields, op_records
from gaus_lab.files.scalars import numeral, undirected
from gaus_lab.files.source import decode
from gaus_lab.graph import Graph
from gaus_lab.graph.core import DEFAULT_TYPE

_TYPE_LABEL = re.compile(r"[^\s{}|<>\\]{1,32}\Z")

_MAX_DEPTH = 1_000
#: What short statements about sets and defaults may stand for, in edges, members and inherited attributes.
_MAX_IMPLIED = 10_000_000

#: A node as an end of an edge: its name and the port, if one is given.
_End = tuple[str, str | None]


@dataclass
class _Scope:
    """The body of a graph or subgraph: defaults, members, and the edge chain of the statement being read."""

    node_defaults: dict[str, Any]
    edge_defaults: dict[str, Any]
    name: str | None = None
    members: dict[str, None] = field(default_factory=dict)
    chain: list[list[_End]] = field(default_factory=list)


def parse(data: bytes, where: str, name: str) -> Graph:
    """Return the graph in the bytes of a DOT file."""
    reader = _Reader(Tokens(decode(data, where), where))
    title = reader.read()
    nodes = [(f"{where}:{line}", op, _with_type(op, fields)) for op, (line, fields) in reader.nodes.items()]
    edges = [(f"{where}:{line}", src, dst, fields) for src, dst, line, fields in reader.edges]
    return assemble(where, title or name, reader.attributes, nodes, edges)


class _Reader:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.attributes: dict[str, Any] = {}
        self.nodes: dict[str, tuple[int, dict[str, Any]]] = {}
        self.edges: list[tuple[str, str, int, dict[str, Any]]] = []
        self.strict = False
        self._merged: dict[tuple[str, str], dict[str, Any]] = {}
        self._subgraphs: dict[str, dict[str, None]] = {}
        self._scopes: list[_Scope] = []
        self._implied = 0

    def read(self) -> str:
        """Read the file; return the graph's name, "" if it has none."""
        tokens = self.tokens
        self.strict = tokens.take("strict")
        place = tokens.place
        if tokens.take("graph"):
            raise undirected(place, "'graph'", "write 'digraph' and '->'")
        if not tokens.take("digraph"):
            raise tokens.error("expected 'digraph'")
        title = tokens.advance().text if tokens.current.kind in NAMES else ""
        tokens.expect("{")
        self._scopes.append(_Scope({}, {}))
        while self._scopes:
            self._statement()
        if tokens.current.kind != "end":
            raise tokens.error("expected the end of the file behind the graph (one graph a file)")
        return title

    def _statement(self) -> None:
        """Read what may stand next in the innermost body: one operand with what follows it, or a whole statement."""
        tokens, scope = self.tokens, self._scopes[-1]
        if not scope.chain and (tokens.take(";") or tokens.take(",")):
            return
        if not scope.chain and tokens.take("}"):
            self._close()
        elif self._begins_subgraph():
            self._open_subgraph()
        elif not scope.chain and tokens.current.kind == "keyword":
            self._defaults(tokens.advance())
        else:
            self._node_or_assignment()

    def _begins_subgraph(self) -> bool:
        current = self.tokens.current
        return current.text in ("subgraph", "{") and current.kind in ("keyword", "mark")

    def _open_subgraph(self) -> None:
        tokens, parent = self.tokens, self._scopes[-1]
        name = None
        if tokens.take("subgraph") and tokens.current.kind in NAMES:
            name = tokens.advance().text
            if tokens.current.text != "{" and name in self._subgraphs:
                self._imply(len(self._subgraphs[name]))
                self._operand([(member, None) for member in self._subgraphs[name]])
                return
        tokens.expect("{")
        if len(self._scopes) >= _MAX_DEPTH:
            raise GraphError(f"{tokens.place}: subgraphs nest deeper than {_MAX_DEPTH} levels; flatten them")
        self._imply(len(parent.node_defaults) + len(parent.edge_defaults))
        self._scopes.append(_Scope(dict(parent.node_defaults), dict(parent.edge_defaults), name))

    def _close(self) -> None:
        scope = self._scopes.pop()
        if scope.name is not None:
            self._subgraphs.setdefault(scope.name, {}).update(scope.members)
        if self._scopes:
            self._imply(len(scope.members))
            self._scopes[-1].members.update(scope.members)
            self._operand([(member, None) for member in scope.members])

    def _imply(self, amount: int) -> None:
        """Count what the file says without writing it out; a few lines could stand for more than fits in memory."""
        self._implied += amount
        if self._implied > _MAX_IMPLIED:
            raise GraphError(
                f"{self.tokens.place}: sets and defaults stand for more than {_MAX_IMPLIED} edges and attributes; "
                "write them out"
            )

    def _defaults(self, keyword: Token) -> None:
        """Read ``node [...]``, ``edge [...]`` or ``graph [...]``."""
        if keyword.text not in ("node", "edge", "graph") or self.tokens.current.text != "[":
            raise self.tokens.error(f"expected '[' behind {keyword.text!r}")
        values = self._attributes()
        scope = self._scopes[-1]
        if keyword.text == "node":
            scope.node_defaults |= values
        elif keyword.text == "edge":
            scope.edge_defaults |= values
        elif len(self._scopes) == 1:
            self.attributes |= values

    def _node_or_assignment(self) -> None:
        tokens, scope = self.tokens, self._scopes[-1]
        token = tokens.name("a node, an edge or '}'" if not scope.chain else "a node behind '->'")
        if not scope.chain and tokens.take("="):
            value = tokens.name("a value")
            if len(self._scopes) == 1:
                self.attributes[token.text] = _plain(value)
            return
        port = None
        while tokens.take(":"):
            part = tokens.name("a port").text
            port = part if port is None else f"{port}:{part}"
        if token.text not in self.nodes:
            self._imply(len(scope.node_defaults))
            self.nodes[token.text] = (token.line, dict(scope.node_defaults))
        scope.members[token.text] = None
        self._operand([(token.text, port)], single=token.text)

    def _operand(self, ends: list[_End], single: str | None = None) -> None:
        """Add an operand to the statement's chain; finish the statement unless an arrow follows."""
        tokens, scope = self.tokens, self._scopes[-1]
        scope.chain.append(ends)
        place, line = tokens.place, tokens.current.line
        if tokens.take("--"):
            raise undirected(place, "'--'", "write '->'")
        if tokens.take("->"):
            return
        chain, scope.chain = scope.chain, []
        values = self._attributes() if tokens.current.text == "[" and tokens.current.kind == "mark" else {}
        if len(chain) > 1:
            fields = scope.edge_defaults | values
            n_edges = sum(len(tails) * len(heads) for tails, heads in pairwise(chain))
            self._imply(n_edges * (1 + len(fields)) - min(n_edges, 1) * (1 + len(values)))
            for tails, heads in pairwise(chain):
                self._connect(tails, heads, line, fields)
        elif single is not None:
            self.nodes[single][1].update(values)

    def _connect(self, tails: list[_End], heads: list[_End], line: int, fields: dict[str, Any]) -> None:
        for src, tail_port in tails:
            for dst, head_port in heads:
                own = dict(fields)
                own |= {"tailport": tail_port} if tail_port is not None else {}
                own |= {"headport": head_port} if head_port is not None else {}
                if self.strict:
                    if (src, dst) in self._merged:
                        self._merged[src, dst].update(own)
                        continue
                    self._merged[src, dst] = own
                self.edges.append((src, dst, line, own))

    def _attributes(self) -> dict[str, Any]:
        """Read one or more bracketed lists; an attribute without a value is ``"true"``."""
        tokens = self.tokens
        values: dict[str, Any] = {}
        while tokens.take("["):
            while not tokens.take("]"):
                key = tokens.name("an attribute or ']'").text
                values[key] = _plain(tokens.name("a value")) if tokens.take("=") else "true"
                if not tokens.take(","):
                    tokens.take(";")
        return values


def _plain(token: Token) -> Any:
    """Return the value of an attribute; what is quoted is text."""
    return numeral(token.text) if token.kind == "id" else token.text


def _with_type(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with ``type`` as text: given, or from ``op``, or from a label that names an operation."""
    given = fields.get("type", fields.get("op"))
    label = fields.get("label")
    if given is not None:
        return fields | {"type": str(given).strip()}
    if (
        isinstance(label, str)
        and label.strip() != name
        and _TYPE_LABEL.match(label.strip())
        and not _is_number(label)
    ):
        return fields | {"type": label.strip().lower()}
    return fields


def _is_number(label: str) -> bool:
    return not isinstance(numeral(label.strip()), str)


def render(graph: Graph) -> str:
    """Return the graph as DOT text; names and texts are quoted, numbers are not.

    Raises
    ------
    GraphError
        An attribute of an operation or edge that is no text or finite number, or text that no quotes can hold.
    """
    lines = [f"digraph {_quoted(graph, graph.name)} {{"]
    for key, value in graph_fields(graph, _expressible).items():
        lines.append(f"  {_quoted(graph, key)}={_spelled(graph, key, value)};")
    for op, fields in op_records(graph):
        if "type" not in fields and ("label" in fields or "op" in fields):
            fields["type"] = DEFAULT_TYPE  # else the label would be read as the type
        lines.append(f"  {_quoted(graph, op)}{_list(graph, fields)};")
    for src, dst, fields in edge_records(graph):
        lines.append(f"  {_quoted(graph, src)} -> {_quoted(graph, dst)}{_list(graph, fields)};")
    return "\n".join([*lines, "}"]) + "\n"


def _list(graph: Graph, fields: dict[str, Any]) -> str:
    pairs = [f"{_quoted(graph, key)}={_spelled(graph, key, value)}" for key, value in fields.items()]
    return f" [{', '.join(pairs)}]" if pairs else ""


def _spelled(graph: Graph, key: str, value: Any) -> str:
    padded = key == "type" and str(value) != str(value).strip()
    if not _expressible(key, value) or padded:
        raise GraphError(
            f"graph {graph.name!r}: attribute {short(key)} is {short(value)}, which DOT cannot express; write JSON"
        )
    return _quoted(graph, value) if isinstance(value, str) else _decimal(value)


def _expressible(key: str, value: Any) -> bool:
    """Return whether an attribute's value is read as it was written."""
    if not isinstance(key, str) or isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    return isinstance(value, str) or bool(numeral(_decimal(value)) == value)


def _decimal(value: int | float) -> str:
    """Return a number as digits; the language knows no exponents."""
    return short(value, 400) if isinstance(value, int) else np.format_float_positional(value)


def _quoted(graph: Graph, text: str) -> str:
    if '\\"' in text or text.endswith("\\") or "\\\n" in text or "\r" in text or "\0" in text:
        raise GraphError(f"graph {graph.name!r}: DOT cannot express the text {short(text)}; write JSON")
    return '"' + text.replace('"', '\\"') + '"'
