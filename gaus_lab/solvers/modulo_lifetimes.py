"""Shorter lifetimes in a legal modulo schedule: one operation after another moves to where values live least."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gaus_lab.exact import product
from gaus_lab.graph import Graph
from gaus_lab.graph.arrays import grouped
from gaus_lab.solvers.modulo_table import Loop, Table, blocked_at, put, take, window

IntArray = NDArray[np.int64]

#: Values with more uses than this are left alone: each move of a user would look at all the others.
MANY_USES = 64
#: Steps that a move looks away from the best step for free slots.
REACH = 512
#: Shifts by distances are cut here; far beyond every horizon.
_FAR = 2**50


class Uses(NamedTuple):
    """Who uses which value, each pair once, and the shift of the use: its largest distance times ii.

    ``by_user_*`` lists the values that an operation uses, ``by_value_*`` the users of a value. `held` is the step to
    which a value lives whatever its users do, far below 0 where there is none.
    """

    by_user_offset: IntArray
    by_user_value: IntArray
    by_user_shift: IntArray
    by_value_offset: IntArray
    by_value_user: IntArray
    by_value_shift: IntArray
    born: IntArray
    bits: NDArray[np.float64]
    held: IntArray


def uses_of(graph: Graph, ii: int, hold_to: int | None) -> Uses:
    """Return the uses of all values of a graph."""
    n = graph.n_ops
    shift = np.minimum(product(graph.distance, ii), _FAR).astype(np.int64)
    order = np.lexsort((-shift, graph.dst, graph.src))
    src, dst, shift = graph.src[order], graph.dst[order], shift[order]
    fresh = np.ones(len(src), dtype=bool)
    fresh[1:] = (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
    src, dst, shift = src[fresh], dst[fresh], shift[fresh]
    counts = np.bincount(src, minlength=n)
    held = np.full(n, -_FAR, dtype=np.int64)
    if hold_to is not None:
        held[counts == 0] = hold_to
    bits = np.where((counts <= MANY_USES) & ((counts > 0) | (held > -_FAR)), graph.bits, 0)
    by_user, by_value = grouped(dst, n), grouped(src, n)
    ends = (by_user[0], src[by_user[1]], shift[by_user[1]], by_value[0], dst[by_value[1]], shift[by_value[1]])
    own = (np.maximum(graph.latency - 1, 0), bits.astype(np.float64), held)
    return Uses(*(np.array(values) for values in (*ends, *own)))


@njit(cache=True)
def _last_use(uses: Uses, start: IntArray, value: int, without: int) -> int:
    """Return the step before which a value may die as far as users other than `without` are concerned."""
    last = uses.held[value]
    for k in range(uses.by_value_offset[value], uses.by_value_offset[value + 1]):
        user = uses.by_value_user[k]
        if user != without:
            last = max(last, start[user] + uses.by_value_shift[k])
    return int(last)


@njit(cache=True)
def _cost(uses: Uses, op: int, step: int, own: int, others: IntArray, births: IntArray) -> float:
    """Return bits times steps that the values `op` makes and uses live if it starts at `step`.

    `own` is the last use of its value by others, ``others[k]`` that of the k-th value that it uses, born at
    ``births[k]``.
    """
    cost = uses.bits[op] * max(own - step - uses.born[op], 0)
    begin = uses.by_user_offset[op]
    for k in range(begin, uses.by_user_offset[op + 1]):
        value = uses.by_user_value[k]
        if uses.bits[value] > 0:
            birth = step + uses.born[op] if value == op else births[k - begin]
            last = max(step + uses.by_user_shift[k], own if value == op else others[k - begin])
            cost += uses.bits[value] * max(last - birth, 0)
            if value == op:  # counted above without its own use
                cost -= uses.bits[op] * max(own - step - uses.born[op], 0)
    return float(cost)


@njit(cache=True)
def _best_step(loop: Loop, table: Table, uses: Uses, op: int, first: int, last: int) -> int:
    """Return the legal start of `op` within [first, last] that costs least; `op` is not in the table."""
    start, here = table.start, table.start[op]
    own = _last_use(uses, start, op, op)
    begin, end = uses.by_user_offset[op], uses.by_user_offset[op + 1]
    others = np.full(end - begin, -_FAR, dtype=np.int64)
    births = np.zeros(end - begin, dtype=np.int64)
    for k in range(begin, end):
        value = uses.by_user_value[k]
        if uses.bits[value] > 0:
            others[k - begin] = _last_use(uses, start, value, op)
            births[k - begin] = start[value] + uses.born[value]
    best, least = here, _cost(uses, op, here, own, others, births)
    aim, bottom = best, least
    for k in range(begin - 3, end):  # the cost is convex in the step, with kinks where a use becomes the last
        if k == begin - 3:
            step = first
        elif k == begin - 2:
            step = last
        elif k == begin - 1:
            step = own - uses.born[op]
        else:
            step = max(others[k - begin], births[k - begin]) - uses.by_user_shift[k]
        step = min(max(step, first), last)
        cost = _cost(uses, op, step, own, others, births)
        if cost < bottom:
            aim, bottom = step, cost
    for away in range(min(loop.ii, REACH)):
        for step in (aim - away, aim + away):
            if first <= step <= last and blocked_at(loop, table, op, step) < 0:
                cost = _cost(uses, op, step, own, others, births)
                if cost < least:
                    best, least = step, cost
        if best != here or bottom >= least:
            break
    return int(best)


@njit(cache=True)
def shorten(loop: Loop, table: Table, uses: Uses, order: IntArray) -> bool:
    """Move each operation, in some order, to where the values around it live least; return whether any moved."""
    moved = False
    for op in order:
        first, last = window(loop, table, op)
        if first == last:
            continue
        here = table.start[op]
        take(loop, table, op)
        step = _best_step(loop, table, uses, op, first, last)
        put(loop, table, op, step)
        moved |= step != here
    return moved
