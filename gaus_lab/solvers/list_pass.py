"""One pass of list scheduling over a graph, forwards or backwards in time, as a compiled loop over events."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gaus_lab.graph import Graph
from gaus_lab.solvers.kernels import FloatArray, tree, tree_first, tree_least, tree_set

IntArray = NDArray[np.int64]

#: The cap of a resource without one, and the deadline of an operation without one.
UNLIMITED = np.iinfo(np.int64).max

_RUNNING, _DONE = 1, 2


class ListPass:
    """List scheduling of a graph, again and again under other priorities, caps and deadlines.

    A backward pass is a forward pass on reversed time, in which an operation begins with the step that releases its
    unit. A producer that could release its unit after its consumer does waits for the consumer on reversed time. So
    it may start earlier than it must, and where occupancies above 1 differ, even before step 0 in spite of a limit.

    Parameters
    ----------
    graph : Graph
    backwards : bool

    Notes
    -----
    Time O((n + m) log n) a pass, memory O(n + m): an operation has at most three events (operands there, deadline,
    release), and each choice is a query for the lowest rank among the listed operations that fit.
    """

    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self.graph, self.backwards = graph, backwards
        edges = np.flatnonzero(graph.distance == 0)
        tail, head, lag = graph.src[edges], graph.dst[edges], graph.lag[edges]
        self._ready = np.zeros(graph.n_ops, dtype=np.int64)
        self._demand = np.where(graph.occupancy > 0, graph.weight, 0)
        # Without demand any occupancy is true; 1 is the likeliest not to make a producer wait on reversed time.
        self._occupancy = np.where(self._demand > 0, graph.occupancy, 1)
        if backwards:
            lag = np.maximum(lag + self._occupancy[head] - self._occupancy[tail], 0)
            tail, head = head, tail
            self._ready = graph.span - self._occupancy
        self._shift = -int(self._ready.min(initial=0))  # time begins at 0 in the compiled loop
        self._ready = self._ready + self._shift
        by_tail = np.argsort(tail, kind="stable")
        self._edges = (_offsets(tail, graph.n_ops), head[by_tail], lag[by_tail])
        self._missing = np.bincount(head, minlength=graph.n_ops).astype(np.int64)
        by_demand = np.lexsort((self._demand, graph.resource_index))
        self._place = np.empty(graph.n_ops, dtype=np.int64)
        self._place[by_demand] = np.arange(graph.n_ops)
        self._shelves = (
            _offsets(graph.resource_index, len(graph.resources)),
            self._demand[by_demand],
        )

    def __call__(
        self,
        rank: IntArray,
        caps: IntArray,
        limit: IntArray | None = None,
        horizon: int = 0,
    ) -> tuple[IntArray, IntArray]:
        """Return the starts, shape (n_ops,), and the peak usage of each resource, shape (n_resources,).

        Parameters
        ----------
        rank : int array of shape (n_ops,)
            A permutation; of the operations that fit, the one with the lowest rank starts next.
        caps : int array of shape (n_resources,), units
        limit : int array of shape (n_ops,), steps, optional
            Starts that come before the caps: forwards the latest ones, backwards the earliest. An operation that
            has reached its limit starts although there is no unit for it. Without it the schedule is as long as
            the caps make it, and begins at 0.
        horizon : int, steps
            End of the schedule; used by backward passes with a limit.
        """
        if limit is None:
            deadline = np.full(self.graph.n_ops, UNLIMITED)
        else:
            deadline = horizon - limit - self._occupancy + self._shift if self.backwards else limit
        start, peaks = self._run(rank, caps, deadline)
        if self.backwards:
            start = horizon - (start - self._shift) - self._occupancy
            if limit is None:
                start -= start.min(initial=UNLIMITED)
        return start, peaks

    def _run(self, rank: IntArray, caps: IntArray, deadline: IntArray) -> tuple[IntArray, IntArray]:
        graph = self.graph
        op_of_rank = np.argsort(rank)
        fixed = _Fixed(
            *self._edges, *self._shelves, self._demand, self._occupancy, graph.resource_index,
            self._place, deadline, rank, op_of_rank, caps,
        )  # fmt: skip
        n_ops, n_resources = graph.n_ops, len(graph.resources)
        moving = _Moving(
            start=np.zeros(n_ops, dtype=np.int64),
            phase=np.zeros(n_ops, dtype=np.int64),
            missing=self._missing.copy(),
            ready=self._ready.copy(),
            usage=np.zeros(n_resources, dtype=np.int64),
            peaks=np.zeros(n_resources, dtype=np.int64),
            events=tree(n_ops),
            listed=tree(n_ops),
        )
        _walk(fixed, moving)
        return moving.start, moving.peaks


def rank_by(*keys: IntArray) -> IntArray:
    """Return the rank of each operation by the first key, equals by the next ones, then by index."""
    rank = np.empty(len(keys[0]), dtype=np.int64)
    rank[np.lexsort(keys[::-1])] = np.arange(len(rank))
    return rank


def _offsets(group: IntArray, n_groups: int) -> IntArray:
    return np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))]).astype(np.int64)


class _Fixed(NamedTuple):
    """What a pass reads: edges by tail, the demands sorted within each resource, arrays per operation, caps."""

    offsets: IntArray
    heads: IntArray
    lags: IntArray
    shelf: IntArray  # (n_resources + 1,), where the demands of each resource begin in `sorted_demand`
    sorted_demand: IntArray
    demand: IntArray
    occupancy: IntArray
    resource: IntArray
    place: IntArray  # of the operation's demand in `sorted_demand`
    deadline: IntArray
    rank: IntArray
    op_of_rank: IntArray
    caps: IntArray


class _Moving(NamedTuple):
    """What a pass changes. `events` holds the time of each operation's next event, if it has one.

    `listed` holds the rank of each operation that waits for units, at its `place`: those that fit are neighbours.
    An operation that must start at once has its rank lowered by n.
    """

    start: IntArray
    phase: IntArray
    missing: IntArray  # operands that have not started
    ready: IntArray
    usage: IntArray
    peaks: IntArray
    events: FloatArray
    listed: FloatArray


@njit(cache=True)
def _walk(fixed: _Fixed, moving: _Moving) -> None:
    """Go from event to event; at each time first take in what happens, then serve the resources concerned."""
    for op in range(len(fixed.rank)):
        if moving.missing[op] == 0:
            tree_set(moving.events, op, moving.ready[op])
    concerned = np.zeros(len(fixed.caps), np.bool_)
    queue = np.zeros(len(fixed.caps), np.int64)
    while moving.events[1] < np.inf:
        now, n_queued = moving.events[1], 0
        while moving.events[1] <= now:
            op = tree_first(moving.events)
            _take_in(fixed, moving, op, now)
            resource = fixed.resource[op]
            if not concerned[resource]:
                concerned[resource] = True
                queue[n_queued] = resource
                n_queued += 1
        for k in range(n_queued):
            resource = queue[k]
            concerned[resource] = False
            _serve(fixed, moving, resource, now)


@njit(cache=True)
def _take_in(fixed: _Fixed, moving: _Moving, op: int, now: float) -> None:
    """Release the unit of an operation that ran; list one whose operands are there; urge one at its deadline."""
    tree_set(moving.events, op, np.inf)
    if moving.phase[op] == _RUNNING:
        moving.usage[fixed.resource[op]] -= fixed.demand[op]
        moving.phase[op] = _DONE
    elif fixed.demand[op] == 0 or fixed.deadline[op] <= now:
        tree_set(moving.listed, fixed.place[op], fixed.rank[op] - len(fixed.rank))
    else:
        tree_set(moving.listed, fixed.place[op], fixed.rank[op])
        if fixed.deadline[op] < UNLIMITED:
            tree_set(moving.events, op, fixed.deadline[op])


@njit(cache=True)
def _serve(fixed: _Fixed, moving: _Moving, resource: int, now: float) -> None:
    """Start what is urgent on a resource, then what fits, the lowest rank first."""
    begin, end = fixed.shelf[resource], fixed.shelf[resource + 1]
    while True:
        key = tree_least(moving.listed, begin, end)
        if key >= 0:
            free = fixed.caps[resource] - moving.usage[resource]
            key = tree_least(moving.listed, begin, _fitting(fixed.sorted_demand, begin, end, free))
        if key == np.inf:
            break
        op = fixed.op_of_rank[int(key) % len(fixed.rank)]
        _start(fixed, moving, op, int(now))
    moving.peaks[resource] = max(moving.peaks[resource], moving.usage[resource])


@njit(cache=True)
def _fitting(demands: IntArray, begin: int, end: int, free: int) -> int:
    """Return one past the last of the sorted demands that is no larger than `free`."""
    while begin < end:
        middle = (begin + end) // 2
        if demands[middle] <= free:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit(cache=True)
def _start(fixed: _Fixed, moving: _Moving, op: int, now: int) -> None:
    """Start an operation now, and let its consumers know when its result will be there."""
    moving.start[op] = now
    moving.phase[op] = _DONE
    tree_set(moving.listed, fixed.place[op], np.inf)
    tree_set(moving.events, op, np.inf)
    if fixed.demand[op] > 0:
        moving.phase[op] = _RUNNING
        moving.usage[fixed.resource[op]] += fixed.demand[op]
        tree_set(moving.events, op, now + fixed.occupancy[op])
    for e in range(fixed.offsets[op], fixed.offsets[op + 1]):
        head = fixed.heads[e]
        moving.ready[head] = max(moving.ready[head], now + fixed.lags[e])
        moving.missing[head] -= 1
        if moving.missing[head] == 0:
            tree_set(moving.events, head, moving.ready[head])
