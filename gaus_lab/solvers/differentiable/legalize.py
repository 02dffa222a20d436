"""The one place where floats become integers: rounding, and the passes that make a schedule legal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gaus_lab.graph import Graph
from gaus_lab.solvers.differentiable.terms import counting_edges

IntArray = NDArray[np.int64]


def round_starts(values: Any) -> IntArray:
    """Return the nearest integers, halves to even; truncation would turn 2.9999991 into 2.

    Examples
    --------
    >>> round_starts([2.9999991, 1e-08, 5.0000002, -1e-09]).tolist()
    [3, 0, 5, 0]
    """
    return np.rint(np.asarray(values, dtype=np.float64)).astype(np.int64)


class Legalizer:
    """Rounds, clips to [ASAP, ALAP] and repairs the dependences.

    Of a straight line in one topological pass, O(n + m). Of a loop pass after pass over all edges, back edges
    included, until nothing moves. Since the windows themselves keep all dependences, an operation that is pushed
    behind its latest producer starts no later than its own ALAP: the passes end, after n of them at the latest, and
    the result is legal in time by construction.

    Parameters
    ----------
    graph : Graph
    early, late : int arrays of shape (n_ops,), steps
        ASAP and ALAP, at `ii` if there is one.
    ii : int, steps, optional

    References
    ----------
    Cai et al., arXiv 2602.20427, the legalisation pass and its fixed point for loops.
    """

    def __init__(self, graph: Graph, early: IntArray, late: IntArray, ii: int | None = None) -> None:
        self.early, self.late = early, late
        self._passes = 1 if ii is None else max(graph.n_ops, 1)
        place = np.empty(graph.n_ops, dtype=np.int64)
        place[graph.order] = np.arange(graph.n_ops)
        edges, lag = counting_edges(graph, ii, int(late.max(initial=0)) + 1)
        src, dst, carried = graph.src[edges], graph.dst[edges], graph.distance[edges] > 0
        forward = np.lexsort((place[src], carried))
        backward = np.lexsort((-place[dst], carried))
        self._forward = (src[forward], dst[forward], lag[forward])
        self._backward = (dst[backward], src[backward], -lag[backward])

    def __call__(self, mu: Any) -> tuple[IntArray, IntArray]:
        """Return two legal starts: one that pushes late what is in the way, and one that pulls it early."""
        start = np.clip(round_starts(mu), self.early, self.late)
        pushed, pulled = start.copy(), start
        for _ in range(self._passes):
            if not _push(*self._forward, pushed):
                break
        for _ in range(self._passes):
            if not _pull(*self._backward, pulled):
                break
        return pushed, pulled


@njit(cache=True)
def _push(tail: IntArray, head: IntArray, lag: IntArray, start: IntArray) -> bool:
    moved = False
    for e in range(len(tail)):
        least = start[tail[e]] + lag[e]
        if start[head[e]] < least:
            start[head[e]], moved = least, True
    return moved


@njit(cache=True)
def _pull(tail: IntArray, head: IntArray, lag: IntArray, start: IntArray) -> bool:
    moved = False
    for e in range(len(tail)):
        most = start[tail[e]] + lag[e]
        if start[head[e]] > most:
            start[head[e]], moved = most, True
    return moved
