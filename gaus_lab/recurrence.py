"""Longest paths with loop-carried edges, and the recurrence bound on ii (maximum cycle ratio)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gaus_lab.checks import integer
from gaus_lab.errors import ProblemError
from gaus_lab.exact import product, total
from gaus_lab.graph import Graph

IntArray = NDArray[np.int64]


def longest_starts(graph: Graph, ii: int | None, backwards: bool = False) -> IntArray:
    """Return the smallest starts >= 0 that meet every dependence; backwards, the smallest distances to the end.

    Backwards, the value of an operation is the number of steps from its start to the end of all that depends on
    it, at least its own ``max(latency, 1)``. Loop-carried edges count if `ii` is given, with lag
    ``lag - distance * ii``.
    """
    if ii is not None:
        ii = integer(ii, "ii", 1, ProblemError)
    relaxation = _Relaxation.of_graph(graph, ii, backwards)
    values = graph.span.tolist() if backwards else [0] * graph.n_ops
    cycle = relaxation.run(values)
    if cycle:
        edges = [relaxation.edge_ids[e] for e in cycle]
        raise ProblemError(_broken_recurrence(graph, ii, edges[::-1] if backwards else edges))
    return np.asarray(values, dtype=np.int64)


def rec_mii(graph: Graph) -> int:
    """Return the recurrence bound on ii: the largest ``ceil(sum of lags / sum of distances)`` of a cycle.

    0 without a loop-carried cycle. Cycles are not enumerated: starting at 0, any cycle whose ratio exceeds the
    current value raises it to that ratio, until none does (Newton's method on the ratio; each round is one
    Bellman-Ford search inside the strongly connected components).

    References
    ----------
    Rau, "Iterative modulo scheduling", MICRO 1994; Dasdan, "Experimental analysis of the fastest optimum cycle
    ratio and mean algorithms", ACM TODAES 9(4), 2004.

    Examples
    --------
    >>> rec_mii(Graph.build([{"name": "x", "latency": 7}], [{"src": "x", "dst": "x", "distance": 3}]))
    3
    """
    return _critical(graph)[0]


def critical_recurrence(graph: Graph) -> list[int]:
    """Return the edges of a cycle that attains RecMII, as indices in path order; [] if RecMII is 0.

    The sum of the lags of these edges over the sum of their distances, rounded up, is `rec_mii`. Several cycles may
    attain it; which one is returned depends on the graph alone.

    Examples
    --------
    >>> loop = Graph.build(["a", "b"], [("a", "b"), {"src": "b", "dst": "a", "distance": 1}])
    >>> [loop.edge_label(e) for e in critical_recurrence(loop)]
    ['edge 0 (a -> b)', 'edge 1 (b -> a)']
    """
    cycle = _critical(graph)[1]
    first = cycle.index(min(cycle)) if cycle else 0
    return cycle[first:] + cycle[:first]


def _critical(graph: Graph) -> tuple[int, list[int]]:
    """Return RecMII and the edges of a cycle that attains it."""
    bound = 0
    critical: list[int] = []
    if not (graph.distance > 0).any():
        return bound, critical
    inside = _edges_on_cycles(graph)
    while True:
        relaxation = _Relaxation.of_graph(graph, bound, keep=inside)
        cycle = [relaxation.edge_ids[e] for e in relaxation.run([0] * graph.n_ops)]
        if not cycle:
            return bound, critical
        bound, critical = -(-total(graph.lag[cycle]) // total(graph.distance[cycle])), cycle


def _edges_on_cycles(graph: Graph) -> NDArray[np.bool_]:
    """Return which edges lie inside a strongly connected component; only they can be on a cycle."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(graph.n_edges)  # floats, since parallel edges add up
    matrix = coo_array((ones, (graph.src, graph.dst)), shape=(graph.n_ops, graph.n_ops)).tocsr()
    component = connected_components(matrix, connection="strong")[1]
    return np.asarray(component[graph.src] == component[graph.dst])


def _broken_recurrence(graph: Graph, ii: int | None, cycle: list[int]) -> str:
    lags, distances = total(graph.lag[cycle]), total(graph.distance[cycle])
    names = [graph.ops[graph.src[e]] for e in cycle]
    path = " -> ".join([*names, names[0]] if len(names) <= 8 else [*names[:8], "..."])
    return (
        f"II {ii} breaks the recurrence {path}: its lags sum to {lags} over {distances} iterations, which needs "
        f"II >= {-(-lags // distances)}"
    )


class _Relaxation:
    """Edges sorted by the topological place of their tail, ready for rounds of longest-path relaxation.

    One round reaches the fixed point of the distance-0 edges, so at most one round more than there are carried
    edges changes anything; a cycle of predecessors is a cycle of positive length and ends the search sooner.
    Plain lists and Python integers: no overflow at any ii, and no slower than compiled code has to load.
    """

    def __init__(self, tail: IntArray, head: IntArray, length: IntArray, edge_ids: list[int], carried: bool):
        self.rows = list(zip(tail.tolist(), head.tolist(), length.tolist(), strict=True))
        self.edge_ids = edge_ids
        self.carried = carried

    @classmethod
    def of_graph(
        cls, graph: Graph, ii: int | None, backwards: bool = False, keep: NDArray[np.bool_] | None = None
    ) -> _Relaxation:
        keep = np.ones(graph.n_edges, dtype=bool) if keep is None else keep
        if ii is None:
            keep = keep & (graph.distance == 0)
        place = np.empty(graph.n_ops, dtype=np.int64)
        place[graph.order] = np.arange(graph.n_ops)
        tail, head = (graph.dst, graph.src) if backwards else (graph.src, graph.dst)
        edges = np.flatnonzero(keep)
        edges = edges[np.argsort(-place[tail[edges]] if backwards else place[tail[edges]], kind="stable")]
        length = graph.lag[edges] - product(graph.distance[edges], ii or 0)
        carried = bool((graph.distance[edges] > 0).any())
        return cls(tail[edges], head[edges], length, edges.tolist(), carried)

    def run(self, values: list[int]) -> list[int]:
        """Raise `values` to the fixed point in place and return []; on a positive cycle return its edges."""
        if not self.carried:
            for tail, head, length in self.rows:
                values[head] = max(values[head], values[tail] + length)
            return []
        reached_by = [-1] * len(values)
        while self._round(values, reached_by):
            cycle = self._cycle(reached_by)
            if cycle:
                return cycle
        return []

    def _round(self, values: list[int], reached_by: list[int]) -> bool:
        changed = False
        for e, (tail, head, length) in enumerate(self.rows):
            if values[tail] + length > values[head]:
                values[head] = values[tail] + length
                reached_by[head] = e
                changed = True
        return changed

    def _cycle(self, reached_by: list[int]) -> list[int]:
        """Return the edges of a cycle of the predecessor graph in path order, [] if it is a forest."""
        visited = [0] * len(reached_by)
        for root in range(len(reached_by)):
            op, path = root, []
            while visited[op] == 0 and reached_by[op] >= 0:
                visited[op] = root + 1
                path.append(reached_by[op])
                op = self.rows[reached_by[op]][0]
            if path and visited[op] == root + 1:
                last = next(i for i, e in enumerate(path) if self.rows[e][1] == op)
                return path[last:][::-1]
        return []
