"""A graph as plain records, the common ground of the formats with named attributes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gaus_lab.checks import short
from gaus_lab.errors import GraphError
from gaus_lab.files.scalars import EDGE_KEYS, OP_KEYS, keywords
from gaus_lab.graph import Graph, GraphBuilder
from gaus_lab.graph.core import DEFAULT_TYPE, PRODUCER_LATENCY

#: Graph attribute under which text formats keep limits, shared resources and whatever else they lack, as JSON.
STORED_KEY = "gaus_lab"

NodeRecord = tuple[str, str, dict[str, Any]]
EdgeRecord = tuple[str, str, str, dict[str, Any]]


def assemble(
    where: str,
    name: str,
    attributes: dict[str, Any],
    nodes: Iterable[NodeRecord],
    edges: Iterable[EdgeRecord],
) -> Graph:
    """Return the graph of records.

    Parameters
    ----------
    where : str
        File, for messages about the whole graph.
    name : str
    attributes : dict
        Of the graph; limits, shared resources and further attributes are taken from `STORED_KEY`.
    nodes : (place, name, fields)
        Fields named like properties set them, others become attributes. `place` is file and line.
    edges : (place, src, dst, fields)
    """
    stored = _stored(attributes.get(STORED_KEY), where)
    builder = GraphBuilder(
        name,
        op_types={t: {"resource": r} for t, r in stored.get("resources", {}).items()},
        limits=stored.get("limits"),
        where=where,
    )
    builder.attributes = {key: value for key, value in attributes.items() if key != STORED_KEY or not stored}
    builder.attributes |= stored.get("attributes", {})
    for place, op, fields in nodes:
        builder.add_op(op, where=place, **keywords(fields, OP_KEYS, ("name", "where")))
    for place, src, dst, fields in edges:
        builder.add_edge(src, dst, where=place, **keywords(fields, EDGE_KEYS, ("src", "dst", "where")))
    return builder.build()


def _stored(text: Any, where: str) -> dict[str, dict[str, Any]]:
    if not isinstance(text, str):
        return {}
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        stored = None
    parts = stored.values() if isinstance(stored, dict) else [None]
    if not all(isinstance(part, dict) for part in parts):
        raise GraphError(f"{where}: graph attribute {STORED_KEY} must be JSON with limits and resources")
    return stored  # type: ignore[no-any-return]


def graph_fields(graph: Graph, expressible: Callable[[str, Any], bool]) -> dict[str, Any]:
    """Return the graph's attributes as a text format can hold them.

    Parameters
    ----------
    graph : Graph
    expressible : function of an attribute's key and value
        Whether the format gives it back unchanged. All others, the limits and the shared resources go to `STORED_KEY`.

    Raises
    ------
    GraphError
        An attribute that not even JSON expresses, or a type or graph without a name, which would get another one.
    """
    for what, text in [
        ("name", graph.name),
        *(("type", graph.types[k]) for k in set(graph.type_index.tolist())),
    ]:
        if not text:
            raise GraphError(f"graph {graph.name!r}: an empty {what} would be lost; name it, or write JSON")
    fields = {key: v for key, v in graph.attributes.items() if key != STORED_KEY and expressible(key, v)}
    rest = {key: value for key, value in graph.attributes.items() if key not in fields}
    check_json(graph, "graph", rest)
    stored = {"limits": dict(graph.limits), "resources": dict(graph.resource_of_type), "attributes": rest}
    stored = {key: value for key, value in stored.items() if value}
    if stored:
        fields[STORED_KEY] = json.dumps(stored)
    return fields


def check_json(graph: Graph, what: str, attributes: Mapping[Any, Any]) -> None:
    """Raise `GraphError` if JSON would not give attributes back as they are: a set, a NaN, a key that is no text."""
    for key, value in attributes.items():
        if not isinstance(key, str):
            raise GraphError(
                f"graph {graph.name!r}: key of a {what} attribute must be text, got {short(key)}"
            )
        try:
            exact = _survives_json(value)
        except RecursionError:
            exact = False
        if not exact:
            raise GraphError(
                f"graph {graph.name!r}: {what} attribute {short(key)} cannot be written, it is {_type_name(value)}; "
                "use text, finite numbers, lists, and dicts with text as keys"
            )


def _survives_json(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_survives_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(_survives_json, value.values()))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | bool | int)


def _type_name(value: Any) -> str:
    return short(value) if isinstance(value, float) else f"or holds what JSON lacks: {type(value).__name__}"


def op_records(graph: Graph) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, fields) of each operation; properties at their defaults are left out.

    Raises
    ------
    GraphError
        An attribute has the name of a property, so that it would take its place.
    """
    _refuse_names(graph, "op", graph.op_attributes, (*OP_KEYS, "name", "where"))
    columns = {key: getattr(graph, key).tolist() for key in ("latency", "occupancy", "weight", "bits")}
    type_index = graph.type_index.tolist()
    for i, name in enumerate(graph.ops):
        fields: dict[str, Any] = {}
        if (op_type := graph.types[type_index[i]]) != DEFAULT_TYPE:
            fields["type"] = op_type
        fields |= {key: column[i] for key, column in columns.items() if column[i] != 1}
        fields |= {key: values[i] for key, values in graph.op_attributes.items() if i in values}
        yield name, fields


def edge_records(graph: Graph) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (src, dst, fields) of each edge; properties at their defaults are left out; raises as `op_records`."""
    _refuse_names(graph, "edge", graph.edge_attributes, (*EDGE_KEYS, "src", "dst", "where"))
    columns = [getattr(graph, key).tolist() for key in ("src", "dst", "distance", "edge_latency", "cost")]
    for i, (src, dst, distance, latency, cost) in enumerate(zip(*columns, strict=True)):
        fields: dict[str, Any] = {"distance": distance} if distance else {}
        fields |= {"latency": latency} if latency != PRODUCER_LATENCY else {}
        fields |= {"cost": cost} if cost != 1 else {}
        fields |= {key: values[i] for key, values in graph.edge_attributes.items() if i in values}
        yield graph.ops[src], graph.ops[dst], fields


def _refuse_names(graph: Graph, what: str, attributes: Mapping[str, Any], taken: tuple[str, ...]) -> None:
    for key in attributes:
        if key in taken or not isinstance(key, str):
            raise GraphError(
                f"graph {graph.name!r}: {what} attribute {short(key)} has the name of a property or none; rename it"
            )


def refuse_losses(graph: Graph, format: str, keeps: tuple[str, ...]) -> None:
    """Raise `GraphError` if the graph says something that a format cannot express, naming the first such thing.

    Parameters
    ----------
    graph : Graph
    format : str
    keeps : names of the properties and attributes that the format expresses
    """
    if graph.limits and "limits" not in keeps:
        raise _loss(graph, format, "limits")
    for key in ("latency", "occupancy", "weight", "bits", "cost", "distance", "edge_latency"):
        default = {"distance": 0, "edge_latency": PRODUCER_LATENCY}.get(key, 1)
        if key not in keeps and (getattr(graph, key) != default).any():
            raise _loss(graph, format, key.replace("_", " "))
    if "type" not in keeps and set(graph.resources) - {DEFAULT_TYPE} | set(graph.types) - {DEFAULT_TYPE}:
        raise _loss(graph, format, "types")
    for what, values in (
        ("graph", graph.attributes),
        ("op", graph.op_attributes),
        ("edge", graph.edge_attributes),
    ):
        for key in values:
            if key not in keeps:
                raise _loss(graph, format, f"{what} attribute {key!r}")


def _loss(graph: Graph, format: str, what: str) -> GraphError:
    return GraphError(
        f"graph {graph.name!r} cannot be written as {format}: its {what} would be lost; write JSON, GML, GraphML or DOT"
    )
