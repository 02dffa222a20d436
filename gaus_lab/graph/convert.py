"""`Graph` from and to networkx; every attribute survives the round trip."""

from __future__ import annotations

from typing import Any

import networkx as nx

from gaus_lab.errors import GraphError
from gaus_lab.graph.builder import GraphBuilder
from gaus_lab.graph.core import PRODUCER_LATENCY, Graph

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
    shared = attributes.pop(_GRAPH_KEY, {})
    op_types = {op_type: {"resource": resource} for op_type, resource in shared.get("resources", {}).items()}
    title = name if name is not None else str(attributes.pop("name", "graph"))
    builder = GraphBuilder(title, op_types=op_types, limits=shared.get("limits"))
    builder.attributes = attributes
    names = {node: str(node) for node in graph}
    for node, data in graph.nodes(data=True):
        builder.add_op(names[node], **_keywords(data, _OP_KEYS, ("name", "where")))
    for src, dst, data in graph.edges(data=True):
        builder.add_edge(names[src], names[dst], **_keywords(data, _EDGE_KEYS, ("src", "dst", "where")))
    return builder.build()


def to_networkx(graph: Graph) -> nx.MultiDiGraph:
    """Return a MultiDiGraph whose nodes are the operations' names, with all properties as attributes."""
    result = nx.MultiDiGraph(name=graph.name, **_text_keys(graph.attributes))
    shared = {"limits": dict(graph.limits), "resources": dict(graph.resource_of_type)}
    if any(shared.values()):
        result.graph[_GRAPH_KEY] = shared
    columns = [getattr(graph, key).tolist() for key in _OP_KEYS[1:]]
    for i, op in enumerate(graph.ops):
        values = {"type": graph.types[graph.type_index[i]]}
        values.update(zip(_OP_KEYS[1:], (column[i] for column in columns), strict=True))
        result.add_node(op, **values)
    for key, by_index in graph.op_attributes.items():
        for i, value in by_index.items():
            result.nodes[graph.ops[i]][key] = value
    for i in range(graph.n_edges):
        values = {"distance": int(graph.distance[i]), "cost": graph.cost[i].item()}
        if graph.edge_latency[i] != PRODUCER_LATENCY:
            values["latency"] = int(graph.edge_latency[i])
        values.update({key: by_index[i] for key, by_index in graph.edge_attributes.items() if i in by_index})
        # A key per edge index keeps the edge order of parallel edges; networkx orders the rest by node.
        data = result.edges[
            graph.ops[graph.src[i]],
            graph.ops[graph.dst[i]],
            result.add_edge(graph.ops[graph.src[i]], graph.ops[graph.dst[i]]),
        ]
        data.update(values)
    return result


def _keywords(data: dict[Any, Any], known: tuple[str, ...], reserved: tuple[str, ...]) -> dict[str, Any]:
    """Return the attributes as keywords; those that would shadow a parameter get a trailing underscore."""
    keywords = {}
    for key, value in data.items():
        key = str(key)
        if key in known and value is None:
            continue
        keywords[f"{key}_" if key in reserved else key] = value
    return keywords


def _text_keys(attributes: Any) -> dict[str, Any]:
    return {
        str(key): value
        for key, value in attributes.items()
        if str(key) not in ("name", "incoming_graph_data")
    }
