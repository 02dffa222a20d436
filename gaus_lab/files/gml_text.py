"""GML text of graphs: what the reader gives back unchanged, and an error for what it would not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gaus_lab.checks import number, short
from gaus_lab.errors import GraphError
from gaus_lab.files.records import edge_records, graph_fields, op_records
from gaus_lab.files.scalars import scalar, typed
from gaus_lab.graph import Graph

#: What a key looks like.
KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*\Z")
#: Keys whose value is text, even where it spells a number.
TEXT_KEYS = ("label", "label_", "name", "type")
#: Keys of a graph that are no attributes.
GRAPH_KEYS = ("directed", "multigraph", "label", "node", "edge")
#: A node's attribute ``label``, where its label is its name.
LABEL = "label_"
#: Levels of blocks; a graph with the graphics of an editor has five.
MAX_DEPTH = 64
#: Indentation of the deepest block.
_DEEPEST = 2 * MAX_DEPTH - 4


def render(graph: Graph) -> str:
    """Return the graph as GML text; nodes are numbered, and labelled by the operations' names.

    Raises
    ------
    GraphError
        An attribute of an operation or edge that GML cannot express: a boolean, a list of fewer than two, text that
        spells a number, a key with other characters than letters, digits and ``_ . -``.
    """
    lines = ["graph [", "  directed 1", "  multigraph 1", f"  label {_quoted(graph, graph.name)}"]
    for key, value in graph_fields(graph, _expressible).items():
        lines += _pair(graph, key, value, "  ")
    for i, fields in enumerate(_op_fields(graph)):
        lines += ["  node [", f"    id {i}", f"    label {_quoted(graph, graph.ops[i])}"]
        lines += _pairs(graph, fields, ("id", "label"))
        lines.append("  ]")
    for src, dst, fields in zip(graph.src.tolist(), graph.dst.tolist(), _edge_fields(graph), strict=True):
        lines += ["  edge [", f"    source {src}", f"    target {dst}"]
        lines += _pairs(graph, fields, ("source", "target"))
        lines.append("  ]")
    return "\n".join([*lines, "]"]) + "\n"


def _expressible(key: str, value: Any) -> bool:
    """Return whether a graph's attribute can stand as a pair of its own."""
    if not isinstance(key, str) or not KEY.match(key) or key.lower() in GRAPH_KEYS:
        return False
    return "\0" not in value if isinstance(value, str) else _is_number(value)


def _op_fields(graph: Graph) -> Iterator[dict[str, Any]]:
    """Yield what is said of each operation; ``parameter`` would set weight and bits, so these are said too."""
    speaking = graph.edge_attributes.get("parameter", {})
    producers = {int(graph.src[edge]) for edge in speaking}
    for i, (_, fields) in enumerate(op_records(graph)):
        if i in producers:
            fields.setdefault("bits", 1)
        if "parameter" in fields:
            fields.setdefault("weight", 1)
            number(fields["parameter"], f"graph {graph.name!r}: op {i} ({graph.ops[i]}): parameter")
        if "label" in fields and LABEL not in fields:
            fields[LABEL] = fields.pop("label")
        yield fields


def _edge_fields(graph: Graph) -> Iterator[dict[str, Any]]:
    for i, (_, _, fields) in enumerate(edge_records(graph)):
        if "parameter" in fields:
            fields.setdefault("cost", 1)
            number(fields["parameter"], f"graph {graph.name!r}: {graph.edge_label(i)}: parameter")
        yield fields


def _pairs(graph: Graph, fields: dict[str, Any], taken: tuple[str, ...]) -> list[str]:
    lines = []
    for key, value in fields.items():
        lost = isinstance(value, str) and key not in TEXT_KEYS and typed(value) != value
        if lost or key.lower() in taken or (key == "type" and not isinstance(value, str)):
            raise _loss(graph, key, value)
        lines += _pair(graph, key, value, "    ")
    return lines


def _pair(graph: Graph, key: str, value: Any, indent: str) -> list[str]:
    if not KEY.match(key):
        raise GraphError(
            f"graph {graph.name!r}: GML keys are letters and digits, not {short(key)}; write JSON"
        )
    if isinstance(value, str):
        return [f"{indent}{key} {_quoted(graph, value)}"]
    if _is_number(value):
        return [f"{indent}{key} {_spelled(value)}"]
    if isinstance(value, dict) and all(isinstance(k, str) for k in value) and len(indent) < _DEEPEST:
        inner = [line for k, v in value.items() for line in _pair(graph, k, v, indent + "  ")]
        return [f"{indent}{key} [", *inner, f"{indent}]"]
    if _is_list(value) and len(value) >= 2 and not any(_is_list(v) for v in value):
        return [line for item in value for line in _pair(graph, key, item, indent)]
    raise _loss(graph, key, value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    back = scalar(_spelled(value))
    return bool(back == value) and isinstance(back, int) == isinstance(value, int)


def _spelled(value: int | float) -> str:
    return short(value, 400) if isinstance(value, int) else repr(float(value))


def _loss(graph: Graph, key: str, value: Any) -> GraphError:
    return GraphError(
        f"graph {graph.name!r}: attribute {short(key)} is {short(value)}, which GML cannot express; write JSON"
    )


def _quoted(graph: Graph, text: str) -> str:
    """Return a GML string, with entities for quotes, ampersands and carriage returns."""
    if "\0" in text:
        raise GraphError(f"graph {graph.name!r}: a zero byte in {short(text)} cannot be written as GML")
    escaped = text.replace("&", "&amp;").replace('"', "&quot;").replace("\r", "&#13;")
    return f'"{escaped}"'
