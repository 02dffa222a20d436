"""The project's own graph format: JSON objects for types, operations and edges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gaus_lab.checks import short
from gaus_lab.errors import GraphError
from gaus_lab.files.records import check_json, edge_records, op_records
from gaus_lab.files.source import decode, encoded
from gaus_lab.graph import Graph, GraphBuilder

FORMAT = "gaus-lab/graph"
VERSION = 1
_KEYS = ("format", "version", "name", "op_types", "ops", "edges", "limits")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse(data: bytes, where: str, name: str) -> Graph:
    """Return the graph in the bytes of a JSON file; keys that the format does not know become attributes."""
    document = _document(decode(data, where), where)
    _check_header(document, where)
    title = document.get("name", name)
    if not isinstance(title, str):
        raise GraphError(f"{where}: name must be text, got {short(title)}")
    builder = GraphBuilder(
        title,
        op_types=_mapping(document, "op_types", where),
        limits=_mapping(document, "limits", where),
        where=where,
    )
    builder.attributes = {key: value for key, value in document.items() if key not in _KEYS}
    for k, op in _records(document, "ops", where):
        place = f"{where}: ops[{k}]"
        builder.add_op(**_fields({"name": op} if isinstance(op, str) else op, ("name",), place), where=place)
    for k, edge in _records(document, "edges", where):
        place = f"{where}: edges[{k}]"
        builder.add_edge(**_fields(edge, ("src", "dst"), place), where=place)
    return builder.build()


def _document(text: str, where: str) -> dict[str, Any]:
    try:
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise GraphError(f"{where}:{error.lineno}: not JSON: {error.msg} (column {error.colno})") from None
    except GraphError as error:
        raise GraphError(f"{where}: {error}") from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise GraphError(f"{where}: not a usable number: {short(str(error), render=str)}") from None
    if _SURROGATE.search(text):  # pairs are text, halves are not
        encoded(json.dumps(document, ensure_ascii=False), where)
    if not isinstance(document, dict):
        raise GraphError(f"{where}: the file must hold one JSON object, got {type(document).__name__}")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise GraphError(f"the key {short(twice)} appears twice in one object; keep one")
    return result


def _refuse_constant(text: str) -> Any:
    raise GraphError(f"{text} is no JSON number; give a finite one")


def _check_header(document: Mapping[str, Any], where: str) -> None:
    if document.get("format", FORMAT) != FORMAT:
        raise GraphError(f"{where}: format must be {FORMAT!r}, got {short(document['format'])}")
    version = document.get("version", VERSION)
    if version != VERSION or isinstance(version, bool):
        raise GraphError(
            f"{where}: version must be {VERSION}, got {short(version)}: a newer gaus_lab reads it"
        )
    if "ops" not in document:
        raise GraphError(f"{where}: the key 'ops' is missing; a graph file lists its operations there")


def _mapping(document: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise GraphError(f"{where}: {key} must be an object, got {short(value)}")
    return value


def _records(document: Mapping[str, Any], key: str, where: str) -> list[tuple[int, Any]]:
    value = document.get(key, [])
    if not isinstance(value, list):
        raise GraphError(f"{where}: {key} must be a list, got {short(value)}")
    return list(enumerate(value))


def _fields(record: Any, required: tuple[str, ...], place: str) -> dict[str, Any]:
    """Return a record as keywords; `where` is no property, and keeps its value under another name."""
    if not isinstance(record, dict):
        raise GraphError(f"{place}: must be an object, got {short(record)}")
    for key in required:
        if key not in record:
            raise GraphError(f"{place}: the key {key!r} is missing")
        if not isinstance(record[key], str):
            raise GraphError(f"{place}.{key} must be text, got {short(record[key])}")
    return {("where_" if key == "where" else key): value for key, value in record.items()}


def render(graph: Graph) -> str:
    """Return the graph as JSON text, one operation or edge a line; all properties and attributes are kept."""
    _check_attributes(graph)
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": graph.name}
    head = {**document, "op_types": _op_types(graph)}
    if graph.limits:
        head["limits"] = dict(graph.limits)
    head |= graph.attributes
    lines = [f" {json.dumps(key)}: {_dump(value)}" for key, value in head.items()]
    for key, records in _records_of(graph):
        rows = ",\n".join(f"  {_dump(record)}" for record in records)
        lines.append(f' "{key}": [\n{rows}\n ]' if rows else f' "{key}": []')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _check_attributes(graph: Graph) -> None:
    for key in graph.attributes:
        if key in _KEYS:
            raise GraphError(
                f"graph {graph.name!r}: graph attribute {key!r} is a key of the format; rename it"
            )
    check_json(graph, "graph", graph.attributes)
    for what, attributes in (("op", graph.op_attributes), ("edge", graph.edge_attributes)):
        for key, values in attributes.items():
            for value in values.values():
                check_json(graph, what, {key: value})


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _op_types(graph: Graph) -> dict[str, dict[str, str]]:
    return {t: {"resource": r} if (r := graph.resource_of_type.get(t)) else {} for t in graph.types}


def _records_of(graph: Graph) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    yield "ops", [{"name": name, **fields} for name, fields in op_records(graph)]
    yield "edges", [{"src": src, "dst": dst, **fields} for src, dst, fields in edge_records(graph)]
