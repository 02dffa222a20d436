"""The second half of legalisation: delay what does not fit under a capacity, never past its ALAP."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gaus_lab.graph import Graph

IntArray = NDArray[np.int64]

#: Capacity of a resource without one.
UNLIMITED = 2**62
#: So many operations that do not fit are set aside in a step before the resource counts as full.
_MISFITS = 8


class CapacityRepair:
    """Delays (or, backwards, advances) the operations of a legalised schedule until they fit under a capacity.

    Time is swept once, from the first step on or from the last one back. In each step the operations whose own
    start has come and whose operands are ready are placed in the order of their ALAPs as long as the capacity
    allows; the others wait. An operation that has reached its ALAP is placed in any case, so the result is legal in
    time, and may exceed the capacity. Backwards the same holds with consumers for operands and ASAP for ALAP. Cost
    O((n + m) log n + steps).

    Parameters
    ----------
    graph : Graph
    early, late : int arrays of shape (n_ops,), steps
        ASAP and ALAP.
    backwards : bool
    """

    def __init__(self, graph: Graph, early: IntArray, late: IntArray, backwards: bool = False) -> None:
        self._last = int((late + np.maximum(graph.occupancy, 1)).max(initial=0))
        self._backwards = backwards
        self._due = self._last - early if backwards else late
        self._row, self._occupancy, self._weight = (
            a.copy() for a in (graph.resource_index, graph.occupancy, graph.weight)
        )
        # Backwards an operation is busy in the cells before its own, as seen from the sweep.
        self._behind = np.maximum(graph.occupancy - 1, 0) if backwards else np.zeros_like(graph.occupancy)
        edges = np.flatnonzero(graph.distance == 0)
        tail, head = (graph.dst, graph.src) if backwards else (graph.src, graph.dst)
        edges = edges[np.argsort(tail[edges], kind="stable")]
        self._offsets = np.searchsorted(tail[edges], np.arange(graph.n_ops + 1))
        self._next, self._lag = head[edges], graph.lag[edges]
        self._waiting = np.bincount(self._next, minlength=graph.n_ops)
        self._shape = (len(graph.resources), self._last + 1)
        counts = np.bincount(self._row, minlength=len(graph.resources))
        self._heap_begin = np.concatenate([[0], np.cumsum(counts)])

    def __call__(self, start: IntArray, capacity: IntArray) -> IntArray:
        """Return the moved starts.

        Parameters
        ----------
        start : int array of shape (n_ops,), steps
            Legal in time.
        capacity : int array of shape (n_resources,), units
        """
        place = self._last - start if self._backwards else start.copy()
        _sweep(
            place,
            self._due,
            self._row,
            self._occupancy,
            self._behind,
            self._weight,
            self._offsets,
            self._next,
            self._lag,
            self._waiting.copy(),
            self._heap_begin,
            capacity,
            np.zeros(self._shape, dtype=np.int64),
        )
        return self._last - place if self._backwards else place


@njit(cache=True)
def _sweep(  # type: ignore[no-untyped-def]
    place, due, row, occupancy, behind, weight, offsets, following, lag, waiting, heap_begin, capacity, used
):
    n_ops, (n_rows, n_steps) = len(place), used.shape
    arriving = np.full(n_steps, -1, np.int64)  # head of the list of operations that become ready in a step
    chained = np.full(n_ops, -1, np.int64)
    heap, size = np.empty(n_ops, np.int64), np.zeros(n_rows, np.int64)
    aside = np.empty(n_ops, np.int64)
    for op in range(n_ops):
        if waiting[op] == 0:
            chained[op] = arriving[place[op]]
            arriving[place[op]] = op
    for step in range(n_steps):
        op = arriving[step]
        while op >= 0:
            _push(heap, heap_begin[row[op]], size, row[op], due, op)
            op = chained[op]
        placed = True
        while placed:  # operations of latency 0 make others ready within the step
            placed = False
            for r in range(n_rows):
                n_aside = 0
                begin = heap_begin[r]
                while size[r] > 0:
                    op = heap[begin]
                    must = due[op] <= step
                    if not must and n_aside >= _MISFITS:
                        break
                    _pop(heap, begin, size, r, due)
                    first = step - behind[op]
                    if not must and not _fits(used[r], first, occupancy[op], weight[op], capacity[r]):
                        aside[n_aside] = op
                        n_aside += 1
                        continue
                    placed = True
                    place[op] = step
                    for busy in range(first, first + occupancy[op]):
                        used[r, busy] += weight[op]
                    for e in range(offsets[op], offsets[op + 1]):
                        v = following[e]
                        place[v] = max(place[v], step + lag[e])
                        waiting[v] -= 1
                        if waiting[v] == 0:
                            if place[v] == step:
                                _push(heap, heap_begin[row[v]], size, row[v], due, v)
                            else:
                                chained[v] = arriving[place[v]]
                                arriving[place[v]] = v
                for k in range(n_aside):
                    _push(heap, begin, size, r, due, aside[k])


@njit(cache=True, inline="always")
def _fits(used, first, occupancy, weight, capacity):  # type: ignore[no-untyped-def]
    for busy in range(first, first + occupancy):  # noqa: SIM110 - numba compiles no generator expression
        if used[busy] + weight > capacity:
            return False
    return True


@njit(cache=True)
def _push(heap, begin, size, r, key, op):  # type: ignore[no-untyped-def]
    child = size[r]
    size[r] += 1
    while child > 0:
        parent = (child - 1) // 2
        if key[heap[begin + parent]] <= key[op]:
            break
        heap[begin + child] = heap[begin + parent]
        child = parent
    heap[begin + child] = op


@njit(cache=True)
def _pop(heap, begin, size, r, key):  # type: ignore[no-untyped-def]
    size[r] -= 1
    last = heap[begin + size[r]]
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size[r]:
            break
        if child + 1 < size[r] and key[heap[begin + child + 1]] < key[heap[begin + child]]:
            child += 1
        if key[heap[begin + child]] >= key[last]:
            break
        heap[begin + parent] = heap[begin + child]
        parent = child
    heap[begin + parent] = last
