"""`Graph` from and to networkx; every attribute survives the round trip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import networkx as nx

from gaus_lab.checks import short
from gaus_lab.errors import GraphError
from gaus_lab.graph.builder import GraphBuilder
from gaus_lab.graph.check import PRODUCER_LATENCY
from gaus_lab.graph.core import Graph

_OP_KEYS = ("type", "latency", "occupancy", "weight", "bits")
_EDGE_KEYS = ("distance", "latency", "cost")
#: Reserved graph attribute under which limits and shared resources travel.
_GRAPH_KEY = "gaus_lab"


def from_networkx(graph: nx.Graph, name: str | None = None) -> Graph:
    """Return the `Graph` of a networkx DiGraph or MultiDiGraph.

    Node and edge attributes named like a property (``type``, ``latency``, ``distance``, ...) set it, all others are
    kept as attributes. Nodes that are no text are named by ``str(node)``; operations and edges keep their order.

    Raises
    ------
    GraphError
        An undirected graph, two nodes with the same text (``1`` and ``"1"``), or a value out of range.
    """
    if not graph.is_directed():
        raise GraphError(
            "the networkx graph is undirected; dependences have a direction: pass a DiGraph or MultiDiGraph"
        )
    attributes: dict[str, Any] = dict(graph.graph)
    own_name = str(attributes.pop("name", None) or "graph")
    shared = attributes.pop(_GRAPH_KEY, {})
    if not isinstance(shared, Mapping):
        raise GraphError(
            f"the graph attribute {_GRAPH_KEY!r} is reserved for limits and resources; rename it, got {short(shared)}"
        )
    op_types = {op_type: {"resource": resource} for op_type, resource in shared.get("resources", {}).items()}
    builder = GraphBuilder(own_name if name is None else name, op_types=op_types, limits=shared.get("limits"))
    builder.attributes = attributes
    names = {node: str(node) for node in graph}
    for node, data in graph.nodes(data=True):
        builder.add_op(names[node], **_keywords(data, _OP_KEYS, ("name", "where")))
    for src, dst, data in graph.edges(data=True):
        builder.add_edge(names[src], names[dst], **_keywords(data, _EDGE_KEYS, ("src", "dst", "where")))
    return builder.build()


def to_networkx(graph: Graph) -> nx.MultiDiGraph:
    """Return a MultiDiGraph whose nodes are the operations' names, with all properties as attributes.

    Nodes keep the order of the operations. networkx lists edges by producer, those of one producer in their order.
    """
    result = nx.MultiDiGraph()
    result.graph.update(graph.attributes, name=graph.name)
    shared = {"limits": dict(graph.limits), "resources": dict(graph.resource_of_type)}
    if any(shared.values()):
        result.graph[_GRAPH_KEY] = shared
    result.add_nodes_from(zip(graph.ops, _op_attributes(graph), strict=True))
    ends = ([graph.ops[i] for i in column.tolist()] for column in (graph.src, graph.dst))
    result.add_edges_from(zip(*ends, _edge_attributes(graph), strict=True))
    return result


def _op_attributes(graph: Graph) -> Iterator[dict[str, Any]]:
    columns = [getattr(graph, key).tolist() for key in _OP_KEYS[1:]]
    for i, (type_index, *values) in enumerate(zip(graph.type_index.tolist(), *columns, strict=True)):
        own = dict(zip(_OP_KEYS, (graph.types[type_index], *values), strict=True))
        yield own | {key: by_index[i] for key, by_index in graph.op_attributes.items() if i in by_index}


def _edge_attributes(graph: Graph) -> Iterator[dict[str, Any]]:
    columns = [column.tolist() for column in (graph.distance, graph.edge_latency, graph.cost)]
    for i, values in enumerate(zip(*columns, strict=True)):
        own = dict(zip(_EDGE_KEYS, values, strict=True))
        if own["latency"] == PRODUCER_LATENCY:
            del own["latency"]
        yield own | {key: by_index[i] for key, by_index in graph.edge_attributes.items() if i in by_index}


def _keywords(data: dict[Any, Any], known: tuple[str, ...], reserved: tuple[str, ...]) -> dict[str, Any]:
    """Return the attributes as keywords; those that would shadow a parameter get a trailing underscore."""
    keywords = {}
    for key, value in data.items():
        key = str(key)
        if key in known and value is None:
            continue
        keywords[f"{key}_" if key in reserved else key] = value
    return keywords
