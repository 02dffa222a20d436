"""The one place where floats become integers: rounding, and the passes that make a schedule legal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gaus_lab.graph import Graph

IntArray = NDArray[np.int64]


def round_starts(values: Any) -> IntArray:
    """Return the nearest integers, halves to even; truncation would turn 2.9999991 into 2.

    Examples
    --------
    >>> round_starts([2.9999991, 1e-08, 5.0000002, -1e-09]).tolist()
    [3, 0, 5, 0]
    """
    return np.rint(np.asarray(values, dtype=np.float64)).astype(np.int64)


class AcyclicLegalizer:
    """Rounds, clips to [ASAP, ALAP] and repairs the dependences of distance 0 in one topological pass.

    Since every value stays within its window, the result is legal in time by construction: an operation pushed
    behind its latest producer starts no later than its own ALAP. Cost O(n + m).

    Parameters
    ----------
    graph : Graph
    early, late : int arrays of shape (n_ops,), steps
        ASAP and ALAP.

    References
    ----------
    Cai et al., arXiv 2602.20427, the legalisation pass.
    """

    def __init__(self, graph: Graph, early: IntArray, late: IntArray) -> None:
        self.early, self.late = early, late
        place = np.empty(graph.n_ops, dtype=np.int64)
        place[graph.order] = np.arange(graph.n_ops)
        edges = np.flatnonzero(graph.distance == 0)
        forward = edges[np.argsort(place[graph.src[edges]], kind="stable")]
        backward = edges[np.argsort(-place[graph.dst[edges]], kind="stable")]
        self._forward = (graph.src[forward], graph.dst[forward], graph.lag[forward])
        self._backward = (graph.dst[backward], graph.src[backward], -graph.lag[backward])

    def __call__(self, mu: Any) -> tuple[IntArray, IntArray]:
        """Return two legal starts: one that pushes late what is in the way, and one that pulls it early."""
        start = np.clip(round_starts(mu), self.early, self.late)
        pushed, pulled = start.copy(), start
        _push(*self._forward, pushed)
        _pull(*self._backward, pulled)
        return pushed, pulled


@njit(cache=True)
def _push(tail: IntArray, head: IntArray, lag: IntArray, start: IntArray) -> None:
    for e in range(len(tail)):
        start[head[e]] = max(start[head[e]], start[tail[e]] + lag[e])


@njit(cache=True)
def _pull(tail: IntArray, head: IntArray, lag: IntArray, start: IntArray) -> None:
    for e in range(len(tail)):
        start[head[e]] = min(start[head[e]], start[tail[e]] + lag[e])
