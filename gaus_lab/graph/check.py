"""What a graph must satisfy, apart from cycles: shapes, unique names, ranges, totals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.checks import short
from gaus_lab.errors import GraphError
from gaus_lab.exact import LIMIT, total

if TYPE_CHECKING:
    from gaus_lab.graph.core import Graph

#: In `Graph.edge_latency`: the producer's latency holds.
PRODUCER_LATENCY = -1

OP_ARRAYS = ("latency", "occupancy", "weight", "bits")
EDGE_ARRAYS = ("src", "dst", "distance", "edge_latency", "cost")
#: Properties that may have a fractional part.
_REAL_ARRAYS = ("weight", "bits", "cost")


def check_graph(graph: Graph) -> None:
    """Raise `GraphError` at the first rule that the graph breaks; cycles are found by `Graph.order`."""
    _check_shapes(graph)
    _check_names(graph)
    for key in ("src", "dst"):
        _check_index(getattr(graph, key), graph.n_ops, f"graph {graph.name!r}: {key} of edge")
    _check_index(graph.type_index, len(graph.types), f"graph {graph.name!r}: type_index of op")
    for key in OP_ARRAYS:
        _check_values(graph, key, 0, lambda i: f"op {i} ({graph.ops[i]})")
    for key, minimum in (("distance", 0), ("edge_latency", PRODUCER_LATENCY), ("cost", 0)):
        _check_values(graph, key, minimum, graph.edge_label)


def op_record(op: Any) -> Mapping[str, Any]:
    """Return the keywords of `GraphBuilder.add_op` for a name, or for a dict with the key ``name``."""
    if isinstance(op, Mapping) and "name" in op:
        return op
    if isinstance(op, str):
        return {"name": op}
    raise GraphError(f"an operation must be a name or a dict with the key 'name', got {short(op)}")


def edge_record(edge: Any) -> Mapping[str, Any]:
    """Return the keywords of `GraphBuilder.add_edge` for a pair, or for a dict with ``src`` and ``dst``."""
    if isinstance(edge, Mapping) and "src" in edge and "dst" in edge:
        return edge
    if isinstance(edge, (tuple, list)) and len(edge) == 2:
        return {"src": edge[0], "dst": edge[1]}
    raise GraphError(
        f"an edge must be a pair of names or a dict with the keys 'src' and 'dst', got {short(edge)}"
    )


def _check_shapes(graph: Graph) -> None:
    n_edges = np.size(graph.src)
    for keys, count in ((("type_index", *OP_ARRAYS), graph.n_ops), (EDGE_ARRAYS, n_edges)):
        for key in keys:
            shape = getattr(graph, key).shape
            if shape != (count,):
                raise GraphError(f"graph {graph.name!r}: {key} must have shape ({count},), got {shape}")


def _check_names(graph: Graph) -> None:
    seen: set[str] = set()
    for i, op in enumerate(graph.ops):
        if not isinstance(op, str):
            raise GraphError(f"graph {graph.name!r}: name of op {i} must be text, got {short(op)}")
        if op in seen:
            raise GraphError(
                f"graph {graph.name!r}: operation name {op!r} is used twice; names must be unique"
            )
        seen.add(op)


def _check_index(values: NDArray[Any], count: int, what: str) -> None:
    bad = np.flatnonzero((values < 0) | (values >= count) | (values != np.rint(values)))
    if len(bad):
        raise GraphError(f"{what} {bad[0]} must be an index from 0 to {count - 1}, got {values[bad[0]]}")


def _check_values(graph: Graph, key: str, minimum: int, label: Callable[[int], str]) -> None:
    values = getattr(graph, key)
    real = key in _REAL_ARRAYS
    bad = np.flatnonzero(~(values >= minimum) | (values != (values if real else np.rint(values))))
    if len(bad):
        kind = "" if real else "an integer "
        raise GraphError(f"{label(int(bad[0]))}: {key} must be {kind}>= {minimum}, got {values[bad[0]]}")
    amount = total(values)
    if not amount < LIMIT:
        raise GraphError(
            f"graph {graph.name!r}: {key} sums to {amount}, must be < 2**62; choose a coarser unit"
        )
