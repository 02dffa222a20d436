"""A modulo reservation table, and the compiled loop of iterative modulo scheduling on it.

An operation that is busy for ``q * ii + r`` steps holds q times its weight in every slot, wherever it starts; the
table has only its r further slots, and the units left for them. Each resource has a row; operations that need no
place in the table have the row -1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gaus_lab.graph.arrays import grouped
from gaus_lab.solvers.kernels import tree, tree_first, tree_set

IntArray = NDArray[np.int64]

#: No step: where an operation finds no place.
NOWHERE = np.iinfo(np.int64).min


class Loop(NamedTuple):
    """What stays: windows of starts, edges from both ends with lags less ``distance * ii``, and needs of slots."""

    early: IntArray
    late: IntArray
    in_offset: IntArray
    in_op: IntArray
    in_lag: IntArray
    out_offset: IntArray
    out_op: IntArray
    out_lag: IntArray
    row: IntArray
    length: IntArray
    weight: IntArray
    longest: IntArray
    ii: int


class Table(NamedTuple):
    """What changes: starts, which operations have one, free units, and who starts in each slot of a row.

    `free` has a tree for each row: slot s at half + s, each inner entry the larger of its two children. Who starts
    in a slot is a doubly linked list; `queue` holds the rank of each operation that waits.
    """

    start: IntArray
    placed: NDArray[np.bool_]
    last: IntArray
    free: IntArray
    head: IntArray
    following: IntArray
    previous: IntArray
    rank: NDArray[np.float64]
    queue: NDArray[np.float64]


class Edges(NamedTuple):
    """Dependences ``start[src] + lag <= start[dst]``, with lags that are less ``distance * ii``."""

    src: IntArray
    dst: IntArray
    lag: IntArray


class Needs(NamedTuple):
    """Row, slots and weight of each operation, and the units that each row has for them."""

    row: IntArray
    length: IntArray
    weight: IntArray
    units: IntArray


def loop_of(edges: Edges, early: IntArray, late: IntArray, needs: Needs, ii: int) -> Loop:
    """Return the loop with its edges by both ends; edges from an operation to itself are left out."""
    n = len(early)
    keep = np.flatnonzero(edges.src != edges.dst)
    src, dst, lag = edges.src[keep], edges.dst[keep], edges.lag[keep]
    in_offset, into = grouped(dst, n)
    out_offset, out = grouped(src, n)
    longest = np.zeros(len(needs.units), dtype=np.int64)
    on = needs.row >= 0
    np.maximum.at(longest, needs.row[on], needs.length[on])
    ends = (in_offset, src[into], lag[into], out_offset, dst[out], lag[out])
    # Copies, since compiled code takes read-only arrays for another type and would be compiled twice.
    arrays = [early, late, *ends, needs.row, needs.length, needs.weight, longest]
    fields: list[Any] = [*(np.array(values, dtype=np.int64) for values in arrays), ii]
    return Loop(*fields)


def mirrored(
    edges: Edges, early: IntArray, late: IntArray, length: IntArray
) -> tuple[Edges, IntArray, IntArray]:
    """Return edges and windows in time that runs backwards: the start x there is ``-length - start``.

    The slots [start, start + length) are the slots [x, x + length) of the mirrored table.
    """
    turned = edges.lag + length[edges.dst] - length[edges.src]
    return Edges(edges.dst, edges.src, turned), -length - late, -length - early


def empty_table(loop: Loop, units: IntArray, rank: NDArray[Any]) -> Table:
    """Return a table without operations, all of which wait in the order of their ranks."""
    n, ii = len(loop.early), loop.ii
    half = 1 << max(ii - 1, 0).bit_length()
    free = np.full((len(units), 2 * half), -1, dtype=np.int64)
    free[:, half : half + ii] = units[:, None]
    for first in [half >> k for k in range(1, half.bit_length())]:
        free[:, first : 2 * first] = np.maximum(
            free[:, 2 * first : 4 * first : 2], free[:, 2 * first + 1 : 4 * first : 2]
        )
    queue = tree(n)
    half = len(queue) // 2
    queue[half : half + n] = rank
    for first in [half >> k for k in range(1, half.bit_length())]:
        queue[first : 2 * first] = np.minimum(
            queue[2 * first : 4 * first : 2], queue[2 * first + 1 : 4 * first : 2]
        )
    links = np.full((2, n), -1, dtype=np.int64)
    heads = np.full((len(units), ii), -1, dtype=np.int64)
    waiting = np.zeros(n, dtype=np.bool_)
    last = np.full(n, NOWHERE, dtype=np.int64)
    start = np.zeros(n, dtype=np.int64)
    return Table(start, waiting, last, free, heads, links[0], links[1], rank.astype(np.float64), queue)


# ---- slots ------------------------------------------------------------------------------------------------


@njit(cache=True)
def _change(free: IntArray, slot: int, amount: int) -> None:
    """Add to the free units of a slot."""
    at = len(free) // 2 + slot
    free[at] += amount
    while at > 1:
        at //= 2
        larger = max(free[2 * at], free[2 * at + 1])
        if free[at] == larger:
            return
        free[at] = larger


@njit(cache=True)
def _next_slot(free: IntArray, begin: int, weight: int) -> int:
    """Return the first slot from `begin` on with so many free units, -1 if there is none."""
    half = len(free) // 2
    at = half + begin
    while free[at] < weight:
        while at % 2 == 1:
            at //= 2
        if at == 0:
            return -1
        at += 1
    while at < half:
        at *= 2
        if free[at] < weight:
            at += 1
    return at - half


@njit(cache=True)
def blocked_at(loop: Loop, table: Table, op: int, step: int) -> int:
    """Return the first j such that `op` at `step` finds its slot ``step + j`` full, -1 if it fits."""
    row = loop.row[op]
    if row < 0:
        return -1
    half = table.free.shape[1] // 2
    for j in range(loop.length[op]):
        if table.free[row, half + (step + j) % loop.ii] < loop.weight[op]:
            return j
    return -1


@njit(cache=True)
def first_free(loop: Loop, table: Table, op: int, first: int, last: int) -> int:
    """Return the first step in [first, last] at which the slots of `op` are free, `NOWHERE` if there is none."""
    row, ii = loop.row[op], loop.ii
    step = first
    while step <= last:
        if row < 0:
            return step
        slot = step % ii
        found = _next_slot(table.free[row], slot, loop.weight[op])
        if found < 0:
            step += ii - slot
            continue
        step += found - slot
        blocked = blocked_at(loop, table, op, step)
        if step <= last and blocked < 0:
            return step
        step += blocked + 1
    return NOWHERE


@njit(cache=True)
def put(loop: Loop, table: Table, op: int, step: int) -> None:
    """Start `op` at `step`; its slots may become overfull."""
    table.start[op], table.placed[op], table.last[op] = step, True, step
    tree_set(table.queue, op, np.inf)
    row = loop.row[op]
    if row < 0:
        return
    for j in range(loop.length[op]):
        _change(table.free[row], (step + j) % loop.ii, -loop.weight[op])
    slot = step % loop.ii
    follower = table.head[row, slot]
    table.previous[op], table.following[op] = -1, follower
    if follower >= 0:
        table.previous[follower] = op
    table.head[row, slot] = op


@njit(cache=True)
def put_all(loop: Loop, table: Table, start: IntArray) -> None:
    """Start every operation of an empty table at its step."""
    for op in range(len(start)):
        put(loop, table, op, start[op])


@njit(cache=True)
def take(loop: Loop, table: Table, op: int) -> None:
    """Remove `op` from the table; it waits again."""
    table.placed[op] = False
    tree_set(table.queue, op, table.rank[op])
    row, step = loop.row[op], table.start[op]
    if row < 0:
        return
    for j in range(loop.length[op]):
        _change(table.free[row], (step + j) % loop.ii, loop.weight[op])
    before, after = table.previous[op], table.following[op]
    if before >= 0:
        table.following[before] = after
    else:
        table.head[row, step % loop.ii] = after
    if after >= 0:
        table.previous[after] = before


@njit(cache=True)
def _holder(loop: Loop, table: Table, row: int, slot: int) -> int:
    """Return the operation that holds a unit in a slot and comes last in rank."""
    worst = -1
    for back in range(loop.longest[row]):
        op = table.head[row, (slot - back) % loop.ii]
        while op >= 0:
            if (
                loop.length[op] > back
                and loop.weight[op] > 0
                and (worst < 0 or table.rank[op] > table.rank[worst])
            ):
                worst = op
            op = table.following[op]
    return worst


# ---- the search -------------------------------------------------------------------------------------------


@njit(cache=True)
def window(loop: Loop, table: Table, op: int) -> tuple[int, int]:
    """Return the first and the last start of `op` that its placed neighbours and its own window allow."""
    first, last = loop.early[op], loop.late[op]
    for k in range(loop.in_offset[op], loop.in_offset[op + 1]):
        if table.placed[loop.in_op[k]]:
            first = max(first, table.start[loop.in_op[k]] + loop.in_lag[k])
    for k in range(loop.out_offset[op], loop.out_offset[op + 1]):
        if table.placed[loop.out_op[k]]:
            last = min(last, table.start[loop.out_op[k]] - loop.out_lag[k])
    return first, last


@njit(cache=True)
def evict(loop: Loop, table: Table, op: int, step: int) -> None:
    """Remove all that `op` at `step` cannot stand beside."""
    for k in range(loop.in_offset[op], loop.in_offset[op + 1]):
        other = loop.in_op[k]
        if table.placed[other] and table.start[other] + loop.in_lag[k] > step:
            take(loop, table, other)
    for k in range(loop.out_offset[op], loop.out_offset[op + 1]):
        other = loop.out_op[k]
        if table.placed[other] and step + loop.out_lag[k] > table.start[other]:
            take(loop, table, other)
    row = loop.row[op]
    blocked = blocked_at(loop, table, op, step)
    while blocked >= 0:
        take(loop, table, _holder(loop, table, row, (step + blocked) % loop.ii))
        blocked = blocked_at(loop, table, op, step)


@njit(cache=True)
def place_all(loop: Loop, table: Table, budget: int) -> bool:
    """Place waiting operations, evicting others, until none waits or the budget of placements is used up.

    Returns
    -------
    bool
        Whether all operations are placed. If not, the search goes on where it was when called again.
    """
    for _ in range(budget):
        if table.queue[1] == np.inf:
            return True
        op = tree_first(table.queue)
        first, last = window(loop, table, op)
        around = first + loop.ii - 1
        step = first_free(loop, table, op, first, min(last, around))
        if step == NOWHERE:  # at the cost of consumers only
            step = first_free(loop, table, op, first, min(loop.late[op], around))
        if step == NOWHERE:  # later than the last time, so that two do not evict each other forever
            step = max(first, table.last[op] + 1)
            if step > loop.late[op]:
                step = loop.early[op]
        evict(loop, table, op, step)
        put(loop, table, op, step)
    return bool(table.queue[1] == np.inf)
