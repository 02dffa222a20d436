"""The one place where floats become integers: rounding, and the passes that make a schedule legal."""

from __future__ import annotations

from collections.abc import Mapping
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


class CapacityRepair:
    """Pushes operations of a time-legal schedule later until every limit holds, or gives up at an ALAP.

    Operations are placed in the order of their starts, each at the first step from its own start on, and behind
    its producers, in which its units are free. Cost O(n + m + steps tried).

    Parameters
    ----------
    graph : Graph
    late : int array of shape (n_ops,), steps
    limits : mapping of resource to units
    """

    def __init__(self, graph: Graph, late: IntArray, limits: Mapping[str, int]) -> None:
        self._late = late
        self._limit = np.array([limits.get(r, -1) for r in graph.resources], dtype=np.int64)[
            graph.resource_index
        ]
        self._row, self._occupancy, self._weight = (
            a.copy() for a in (graph.resource_index, graph.occupancy, graph.weight)
        )
        self._place = np.empty(graph.n_ops, dtype=np.int64)
        self._place[graph.order] = np.arange(graph.n_ops)
        edges = np.flatnonzero(graph.distance == 0)
        edges = edges[np.argsort(graph.dst[edges], kind="stable")]
        self._offsets = np.searchsorted(graph.dst[edges], np.arange(graph.n_ops + 1))
        self._producer, self._lag = graph.src[edges], graph.lag[edges]
        steps = int((late + np.maximum(graph.occupancy, 1)).max(initial=1))
        self._shape = (len(graph.resources), steps)

    def __call__(self, start: IntArray) -> IntArray | None:
        """Return a legal schedule made from a time-legal one, or None."""
        order = np.lexsort((self._place, start))
        repaired = start.copy()
        used = np.zeros(self._shape, dtype=np.int64)
        legal = _place_in_order(
            order,
            self._offsets,
            self._producer,
            self._lag,
            self._row,
            self._occupancy,
            self._weight,
            self._limit,
            self._late,
            used,
            repaired,
        )
        return repaired if legal else None


@njit(cache=True)
def _place_in_order(  # type: ignore[no-untyped-def]
    order, offsets, producer, lag, row, occupancy, weight, limit, late, used, start
):
    for op in order:
        step = start[op]
        for e in range(offsets[op], offsets[op + 1]):
            step = max(step, start[producer[e]] + lag[e])
        free = step
        while limit[op] >= 0 and step <= late[op] and free < step + occupancy[op]:
            if used[row[op], free] + weight[op] > limit[op]:
                step = free + 1
            free += 1
        if step > late[op]:
            return False
        start[op] = step
        for busy in range(step, step + occupancy[op]):
            used[row[op], busy] += weight[op]
    return True
