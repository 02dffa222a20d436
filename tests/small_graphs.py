"""Small graphs that Hypothesis draws, and every schedule of one, found by trying all starts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

from hypothesis import strategies as st

from gaus_lab.graph import Graph

Draw = st.DrawFn


@st.composite
def graphs(
    draw: Draw,
    *,
    min_ops: int = 0,
    max_ops: int = 6,
    max_edges: int = 10,
    max_distance: int = 0,
    max_latency: int = 3,
    max_occupancy: int = 3,
) -> Graph:
    """Draw a multigraph; with `max_distance` also loop-carried edges, among them self-edges.

    Operations are declared in an order that has nothing to do with the direction of the edges.
    """
    n_ops = draw(st.integers(min_ops, max_ops))
    names = draw(st.permutations([f"v{i}" for i in range(n_ops)]))
    small = st.integers(0, 3)
    ops = [
        {
            "name": name,
            "type": draw(st.sampled_from(["mul", "add"])),
            "latency": draw(st.integers(0, max_latency)),
            "occupancy": draw(st.integers(0, max_occupancy)),
            "weight": draw(small),
            "bits": draw(small),
        }
        for name in names
    ]
    edges = []
    for _ in range(draw(st.integers(0, max_edges)) if n_ops else 0):
        u, v = draw(st.integers(0, n_ops - 1)), draw(st.integers(0, n_ops - 1))
        distance = draw(st.integers(0, max_distance))
        if distance == 0:
            if u == v:
                continue
            u, v = min(u, v), max(u, v)
        latency = draw(st.none() | st.integers(0, max_latency))
        edge = {"src": f"v{u}", "dst": f"v{v}", "distance": distance, "latency": latency, "cost": draw(small)}
        edges.append(edge)
    return Graph.build(ops, edges, name="drawn")


def is_legal_in_time(graph: Graph, start: tuple[int, ...], horizon: int, ii: int | None) -> bool:
    """Return whether dependences and horizon hold, by the definition."""
    for i in range(graph.n_ops):
        if start[i] < 0 or start[i] + max(graph.latency[i], 1) > horizon:
            return False
    for e in range(graph.n_edges):
        if ii is None and graph.distance[e]:
            continue
        u, v = graph.src[e], graph.dst[e]
        lag = graph.latency[u] if graph.edge_latency[e] < 0 else graph.edge_latency[e]
        if start[u] + lag > start[v] + graph.distance[e] * (ii or 0):
            return False
    return True


def every_start(graph: Graph, horizon: int, ii: int | None = None) -> Iterator[tuple[int, ...]]:
    """Yield all starts that meet dependences and horizon; exponential, for a handful of operations."""
    for start in itertools.product(range(horizon), repeat=graph.n_ops):
        if is_legal_in_time(graph, start, horizon, ii):
            yield start


def first_start(
    graph: Graph, horizon: int, limits: Mapping[str, int], ii: int | None = None
) -> list[int] | None:
    """Return some legal starts, None if there are none: depth first, producers before consumers."""
    start: dict[int, int] = {}
    busy: Counter[tuple[str, int]] = Counter()
    edges = [e for e in range(graph.n_edges) if ii is not None or graph.distance[e] == 0]

    def fits(op: int) -> bool:
        ends = [
            e
            for e in edges
            if op in (graph.src[e], graph.dst[e]) and {graph.src[e], graph.dst[e]} <= start.keys()
        ]
        return all(
            start[graph.src[e]] + graph.lag[e] <= start[graph.dst[e]] + graph.distance[e] * (ii or 0)
            for e in ends
        ) and all(amount <= limits.get(resource, amount) for (resource, _), amount in busy.items())

    def extend(depth: int) -> bool:
        if depth == graph.n_ops:
            return True
        op = int(graph.order[depth])
        resource = graph.resources[graph.resource_index[op]]
        for step in range(horizon - int(graph.span[op]) + 1):
            start[op] = step
            steps = range(step, step + int(graph.occupancy[op]))
            held = Counter((resource, d if ii is None else d % ii) for d in steps)
            busy.update(held)
            if fits(op) and extend(depth + 1):
                return True
            busy.subtract(held)
        start.pop(op, None)
        return False

    return [start[i] for i in range(graph.n_ops)] if extend(0) else None
