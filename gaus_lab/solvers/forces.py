"""Forces of force-directed scheduling, and the compiled loop that fixes one operation after the other.

An operation that may start in any step of its frame [early, late] counts in each of them with the same probability.
The distribution graph of a resource is the expected usage that follows. `Frames` keeps it as its second difference,
in which a changed frame changes eight entries at most, and as sums along time from which the mean load of any frame
follows in constant time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gaus_lab.graph import Graph
from gaus_lab.solvers.kernels import FloatArray, tree, tree_first, tree_set

IntArray = NDArray[np.int64]

#: Forces closer than this are equal, so that rounding does not choose; the largest demand counts as 1.
TIE = 1e-9


class Dependences(NamedTuple):
    """Neighbours of each operation on one side: those of i lie from ``offsets[i]`` to before ``offsets[i + 1]``."""

    offsets: IntArray
    ops: IntArray
    lags: IntArray


class Fixed(NamedTuple):
    """What does not change: dependences, place in topological order, and what an operation uses."""

    behind: Dependences  # consumers
    before: Dependences  # producers
    place: IntArray
    row: IntArray  # first cell of the operation's resource in the arrays of `Frames`
    occupancy: IntArray
    demand: FloatArray
    width: int  # cells of a row
    look_ahead: float


class Frames(NamedTuple):
    """What changes: frames, distribution graphs, forces. The arrays of cells are flat, a row for each resource."""

    early: IntArray
    late: IntArray
    bend: FloatArray  # second difference of the distribution graph
    first_sum: FloatArray  # of the distribution graph over the steps before a step
    second_sum: FloatArray  # of the first sums before a step
    stale: NDArray[np.bool_]  # (n_resources,), whether the sums lag behind `bend`
    force: FloatArray  # tree: of each movable operation, the least force at its last evaluation
    agenda: FloatArray  # tree: place of the operations whose neighbours' frames are to be updated
    work: FloatArray  # (horizon + 1,), forces of one operation
    tried: IntArray  # (n_ops,)
    tried_force: FloatArray  # (n_ops,)


def fixed_of_graph(graph: Graph, demand: FloatArray, width: int, look_ahead: float) -> Fixed:
    """Return the constants of a graph; of parallel edges only the longest lag counts."""
    edges = np.flatnonzero(graph.distance == 0)
    src, dst, lag = graph.src[edges], graph.dst[edges], graph.lag[edges]
    order = np.lexsort((-lag, dst, src))
    src, dst, lag = src[order], dst[order], lag[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
    src, dst, lag = src[first], dst[first], lag[first]
    place = np.empty(graph.n_ops, dtype=np.int64)
    place[graph.order] = np.arange(graph.n_ops)
    return Fixed(
        _dependences(src, dst, lag, graph.n_ops),
        _dependences(dst, src, lag, graph.n_ops),
        place,
        graph.resource_index * width,
        graph.occupancy,
        demand,
        width,
        look_ahead,
    )


def _dependences(own: IntArray, other: IntArray, lag: IntArray, n_ops: int) -> Dependences:
    order = np.argsort(own, kind="stable")
    counts = np.bincount(own, minlength=n_ops)
    return Dependences(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), other[order], lag[order])


def frames_between(early: IntArray, late: IntArray, fixed: Fixed, n_resources: int) -> Frames:
    """Return the frames [ASAP, ALAP] and the distribution graphs that follow from them."""
    n_ops, cells = len(early), n_resources * fixed.width
    frames = Frames(
        early=early.copy(),
        late=late.copy(),
        bend=np.zeros(cells),
        first_sum=np.zeros(cells),
        second_sum=np.zeros(cells),
        stale=np.ones(n_resources, dtype=np.bool_),
        force=tree(n_ops),
        agenda=tree(n_ops),
        work=np.zeros(int((late - early).max(initial=0)) + 1),
        tried=np.zeros(n_ops, dtype=np.int64),
        tried_force=np.zeros(n_ops),
    )
    share = fixed.demand / (late - early + 1)
    for cell, sign in (
        (early, 1),
        (late + 1, -1),
        (early + fixed.occupancy, -1),
        (late + 1 + fixed.occupancy, 1),
    ):
        np.add.at(frames.bend, fixed.row + cell, sign * share)
    return frames


@njit(cache=True)
def survey(fixed: Fixed, frames: Frames, begin: int, end: int) -> None:
    """Evaluate the forces of the movable operations from `begin` to before `end`."""
    _sum_up(fixed, frames)
    for op in range(begin, end):
        if frames.early[op] < frames.late[op]:
            tree_set(frames.force, op, _least_force(fixed, frames, op)[0])


@njit(cache=True)
def advance(fixed: Fixed, frames: Frames, candidates: int, count: int) -> int:
    """Fix up to `count` operations; return how many were fixed, fewer only when none can move any more."""
    for done in range(count):
        if frames.force[1] == np.inf:
            return done
        op, step = _choose(fixed, frames, candidates)
        _fix(fixed, frames, op, step)
        _sum_up(fixed, frames)
    return count


@njit(cache=True)
def _choose(fixed: Fixed, frames: Frames, candidates: int) -> tuple[int, int]:
    """Return the operation and step with the least force among the candidates, evaluated anew.

    Candidates come in the order of their last forces. Where not all operations are candidates, the search ends with
    the first whose force is no higher than the last forces of those that follow.
    """
    everything = candidates >= len(frames.tried)
    chosen, chosen_step, least, n_tried = -1, -1, np.inf, 0
    while n_tried < candidates and frames.force[1] < np.inf and (everything or frames.force[1] < least):
        op = tree_first(frames.force)
        force, step = _least_force(fixed, frames, op)
        tree_set(frames.force, op, np.inf)
        frames.tried[n_tried], frames.tried_force[n_tried] = op, force
        n_tried += 1
        if force < least - TIE or (force < least + TIE and op < chosen):
            chosen, chosen_step, least = op, step, force
    for k in range(n_tried):
        tree_set(frames.force, frames.tried[k], frames.tried_force[k])
    return chosen, chosen_step


@njit(cache=True)
def _load(fixed: Fixed, frames: Frames, op: int, early: int, late: int) -> float:
    """Return the distribution graph summed over the operation's occupancy, the mean over starts in a frame."""
    a, b = fixed.row[op] + early, fixed.row[op] + late + 1
    busy, demand, sums = fixed.occupancy[op], fixed.demand[op], frames.second_sum
    usage = sums[b + busy] - sums[a + busy] - sums[b] + sums[a]
    return float(demand * (usage + fixed.look_ahead * demand * busy) / (b - a))


@njit(cache=True)
def _least_force(fixed: Fixed, frames: Frames, op: int) -> tuple[float, int]:
    """Return the least force of an operation, and its first step with that force."""
    early, late = frames.early[op], frames.late[op]
    force = frames.work[: late - early + 1]
    base = _load(fixed, frames, op, early, late)
    for step in range(early, late + 1):
        force[step - early] = _load(fixed, frames, op, step, step) - base
    for e in range(fixed.behind.offsets[op], fixed.behind.offsets[op + 1]):
        other, lag = fixed.behind.ops[e], fixed.behind.lags[e]
        a, b = frames.early[other], frames.late[other]
        base = _load(fixed, frames, other, a, b)
        for step in range(max(early, a - lag + 1), late + 1):
            force[step - early] += _load(fixed, frames, other, step + lag, b) - base
    for e in range(fixed.before.offsets[op], fixed.before.offsets[op + 1]):
        other, lag = fixed.before.ops[e], fixed.before.lags[e]
        a, b = frames.early[other], frames.late[other]
        base = _load(fixed, frames, other, a, b)
        for step in range(early, min(late, b + lag - 1) + 1):
            force[step - early] += _load(fixed, frames, other, a, step - lag) - base
    best = 0
    for k in range(1, len(force)):
        if force[k] < force[best] - TIE:
            best = k
    return force[best], early + best


@njit(cache=True)
def _fix(fixed: Fixed, frames: Frames, op: int, step: int) -> None:
    """Fix an operation, and cut the frames of all that depend on it or on which it depends."""
    _cut(fixed, frames, op, step, step)
    tree_set(frames.agenda, op, fixed.place[op])
    while frames.agenda[1] < np.inf:
        u = tree_first(frames.agenda)
        tree_set(frames.agenda, u, np.inf)
        for e in range(fixed.behind.offsets[u], fixed.behind.offsets[u + 1]):
            v, least = fixed.behind.ops[e], frames.early[u] + fixed.behind.lags[e]
            if frames.early[v] < least:
                _cut(fixed, frames, v, least, frames.late[v])
                tree_set(frames.agenda, v, fixed.place[v])
    tree_set(frames.agenda, op, -fixed.place[op])
    while frames.agenda[1] < np.inf:
        v = tree_first(frames.agenda)
        tree_set(frames.agenda, v, np.inf)
        for e in range(fixed.before.offsets[v], fixed.before.offsets[v + 1]):
            u, most = fixed.before.ops[e], frames.late[v] - fixed.before.lags[e]
            if frames.late[u] > most:
                _cut(fixed, frames, u, frames.early[u], most)
                tree_set(frames.agenda, u, -fixed.place[u])


@njit(cache=True)
def _cut(fixed: Fixed, frames: Frames, op: int, early: int, late: int) -> None:
    """Change the frame of an operation and the bends of its distribution graph."""
    for sign in (-1.0, 1.0):
        a, b, busy = (
            fixed.row[op] + frames.early[op],
            fixed.row[op] + frames.late[op] + 1,
            fixed.occupancy[op],
        )
        share = sign * fixed.demand[op] / (b - a)
        frames.bend[a] += share
        frames.bend[b] -= share
        frames.bend[a + busy] -= share
        frames.bend[b + busy] += share
        frames.early[op], frames.late[op] = early, late
    frames.stale[fixed.row[op] // fixed.width] = True
    if early == late:
        tree_set(frames.force, op, np.inf)


@njit(cache=True)
def _sum_up(fixed: Fixed, frames: Frames) -> None:
    """Bring the sums up to date with the bends."""
    for resource in range(len(frames.stale)):
        if frames.stale[resource]:
            frames.stale[resource] = False
            slope, usage, first, second = 0.0, 0.0, 0.0, 0.0
            for cell in range(resource * fixed.width, (resource + 1) * fixed.width):
                frames.first_sum[cell], frames.second_sum[cell] = first, second
                slope += frames.bend[cell]
                usage += slope
                second += first
                first += usage
