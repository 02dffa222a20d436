"""The compiled moves: one operation at a time, within the window that its neighbours leave.

A move is made, its exact change of the cost is read off the tournaments of maxima, and it is undone if simulated
annealing rejects it. Changes of a lifetime are changes of the few boundaries between the old end and the new one.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gaus_lab.solvers.moves.tables import Fixed, Moving

_TO_UNIT = 1.0 / 9007199254740992.0  # 2**-53


@njit(cache=True, inline="always")
def _random(state):  # type: ignore[no-untyped-def]
    """Return a number from 0 to before 1 (xorshift128+, Vigna 2017)."""
    x, y = state[0], state[1]
    state[0] = y
    x ^= x << np.uint64(23)
    x ^= (x >> np.uint64(18)) ^ y ^ (y >> np.uint64(5))
    state[1] = x
    return ((x + y) >> np.uint64(11)) * _TO_UNIT


@njit(cache=True, inline="always")
def _set(peaks, cell, value):  # type: ignore[no-untyped-def]
    """Change a leaf of a tournament of maxima."""
    at = len(peaks) // 2 + cell
    peaks[at] = value
    while at > 1:
        larger = max(peaks[at], peaks[at ^ 1])
        at //= 2
        if peaks[at] == larger:
            return
        peaks[at] = larger


@njit(cache=True, inline="always")
def _add(amounts, peaks, begin, end, amount, ii):  # type: ignore[no-untyped-def]
    """Add an amount to the steps ``[begin, end)``, folded where there is an ii; return the change of the squares."""
    squares = 0.0
    for step in range(begin, end):
        cell = step % ii if ii else step
        before = amounts[cell]
        amounts[cell] = before + amount
        squares += amount * (2.0 * before + amount)
        _set(peaks, cell, before + amount)
    return squares


@njit(cache=True)
def set_up(fixed: Fixed, moving: Moving) -> None:
    """Fill the state of a schedule."""
    for op in range(len(moving.start)):
        start, row = moving.start[op], fixed.row[op]
        if row >= 0:
            _add(
                moving.usage[row],
                moving.usage_peaks[row],
                start,
                start + fixed.occupancy[op],
                fixed.weight[op],
                fixed.ii,
            )
        if fixed.bits[op]:
            death = _death(fixed, moving, op)
            moving.death[op] = death
            _add(moving.live, moving.live_peaks, start + fixed.born[op], death, fixed.bits[op], fixed.ii)


@njit(cache=True, inline="always")
def _death(fixed, moving, value):  # type: ignore[no-untyped-def]
    """Return one past the last boundary on which a value is live."""
    first, last = fixed.use_offsets[value], fixed.use_offsets[value + 1]
    if first == last:
        return fixed.held
    death = moving.start[fixed.use_op[first]] + fixed.use_shift[first]
    for k in range(first + 1, last):
        death = max(death, moving.start[fixed.use_op[k]] + fixed.use_shift[k])
    return death


@njit(cache=True)
def cost(fixed: Fixed, moving: Moving) -> float:
    """Return the objective of the present schedule, less a constant of the communication."""
    total = 0.0
    for row in range(len(fixed.price)):
        total += fixed.price[row] * moving.usage_peaks[row, 1]
    for op in range(len(moving.start)):
        total += fixed.slope[op] * moving.start[op]
    return float(total + fixed.price_live * moving.live_peaks[1])


@njit(cache=True, inline="always")
def _shift_interval(fixed, moving, begin, end, new_begin, new_end, bits):  # type: ignore[no-untyped-def]
    """Turn a lifetime into another one; return the change of the squared profile."""
    live, peaks, ii = moving.live, moving.live_peaks, fixed.ii
    squares = 0.0
    if begin >= end or new_begin >= new_end or new_begin >= end or begin >= new_end:  # one is empty, or apart
        squares += _add(live, peaks, begin, end, -bits, ii)
        return squares + _add(live, peaks, new_begin, new_end, bits, ii)
    if new_begin < begin:
        squares += _add(live, peaks, new_begin, begin, bits, ii)
    else:
        squares += _add(live, peaks, begin, new_begin, -bits, ii)
    if new_end > end:
        squares += _add(live, peaks, end, new_end, bits, ii)
    else:
        squares += _add(live, peaks, new_end, end, -bits, ii)
    return squares


@njit(cache=True)
def _place(fixed, moving, op, new):  # type: ignore[no-untyped-def]
    """Move an operation; return (change of the cost without peaks, of the weighted squares)."""
    old, row, squares = moving.start[op], fixed.row[op], 0.0
    if row >= 0:
        usage, peaks, weight = moving.usage[row], moving.usage_peaks[row], fixed.weight[op]
        occupancy = fixed.occupancy[op]
        change = _add(usage, peaks, old, old + occupancy, -weight, fixed.ii)
        change += _add(usage, peaks, new, new + occupancy, weight, fixed.ii)
        squares += fixed.price[row] * change / (2.0 * fixed.even[row])
    moving.start[op] = new
    change = 0.0
    if fixed.bits[op]:
        born, death = fixed.born[op], moving.death[op]
        new_death = _death(fixed, moving, op) if fixed.own_use[op] else death
        change += _shift_interval(fixed, moving, old + born, death, new + born, new_death, fixed.bits[op])
        moving.death[op] = new_death
    for k in range(fixed.of_offsets[op], fixed.of_offsets[op + 1]):
        value = fixed.of_value[k]
        death, begin = moving.death[value], moving.start[value] + fixed.born[value]
        new_death = _death(fixed, moving, value)
        if new_death != death:
            change += _shift_interval(fixed, moving, begin, death, begin, new_death, fixed.bits[value])
            moving.death[value] = new_death
    squares += fixed.price_live * change / (2.0 * fixed.even_live)
    return fixed.slope[op] * (new - old), squares


@njit(cache=True, inline="always")
def _window(fixed, moving, op):  # type: ignore[no-untyped-def]
    """Return first and last start that the neighbours leave."""
    low, high = fixed.early[op], fixed.late[op]
    for k in range(fixed.in_offsets[op], fixed.in_offsets[op + 1]):
        low = max(low, moving.start[fixed.in_op[k]] + fixed.in_lag[k])
    for k in range(fixed.out_offsets[op], fixed.out_offsets[op + 1]):
        high = min(high, moving.start[fixed.out_op[k]] - fixed.out_lag[k])
    return low, high


@njit(cache=True, inline="always")
def _target(state, at, low, high):  # type: ignore[no-untyped-def]
    """Return another start in ``[low, high]``: a neighbouring one, or any."""
    if high - low > 1 and _random(state) < 0.5:
        if at == low:
            return at + 1
        if at == high:
            return at - 1
        return at + 1 if _random(state) < 0.5 else at - 1
    new = low + int(_random(state) * (high - low))
    return new + 1 if new >= at else new


@njit(cache=True, inline="always")
def _peaks(fixed, moving):  # type: ignore[no-untyped-def]
    total = fixed.price_live * moving.live_peaks[1]
    for row in range(len(fixed.price)):
        total += fixed.price[row] * moving.usage_peaks[row, 1]
    return total


@njit(cache=True, inline="always")
def _within_limits(fixed, moving, op):  # type: ignore[no-untyped-def]
    row = fixed.row[op]
    return row < 0 or moving.usage_peaks[row, 1] <= fixed.limit[row]


@njit(cache=True)
def mean_rise(fixed: Fixed, moving: Moving, tries: int) -> float:
    """Return the mean of the rises in energy that random moves would bring; all are undone."""
    rises, count = 0.0, 0
    for _ in range(tries):
        op = fixed.movable[int(_random(moving.random) * len(fixed.movable))]
        low, high = _window(fixed, moving, op)
        if low >= high:
            continue
        old, before = moving.start[op], _peaks(fixed, moving)
        change, squares = _place(fixed, moving, op, _target(moving.random, old, low, high))
        change += _peaks(fixed, moving) - before + fixed.share * squares
        _place(fixed, moving, op, old)
        if change > 0:
            rises += change
            count += 1
    return rises / count if count else 0.0


@njit(cache=True)
def anneal(
    fixed: Fixed, moving: Moving, moves: int, temperature: float, present: float, best: float
) -> tuple[float, float]:
    """Try some moves at a temperature; return the cost of the present schedule and of the best.

    The best is kept in `moving.best`, which is brought up to date through the list of operations that moved since.
    """
    peaks = _peaks(fixed, moving)
    for _ in range(moves):
        op = fixed.movable[int(_random(moving.random) * len(fixed.movable))]
        low, high = _window(fixed, moving, op)
        if low >= high:
            continue
        old = moving.start[op]
        change, squares = _place(fixed, moving, op, _target(moving.random, old, low, high))
        new_peaks = _peaks(fixed, moving)
        change += new_peaks - peaks
        energy = change + fixed.share * squares
        accepted = energy <= 0 or _random(moving.random) < np.exp(-energy / temperature)
        if not accepted or not _within_limits(fixed, moving, op):
            _place(fixed, moving, op, old)
            continue
        peaks = new_peaks
        present += change
        _note(moving, op)
        if present < best - 1e-6:
            best = present
            _keep(moving)
    return present, best


@njit(cache=True, inline="always")
def _note(moving, op):  # type: ignore[no-untyped-def]
    """Remember that an operation moved; from n notes on, that any may have."""
    if moving.counts[0] < len(moving.changed):
        moving.changed[moving.counts[0]] = op
    moving.counts[0] += 1


@njit(cache=True)
def _keep(moving):  # type: ignore[no-untyped-def]
    if moving.counts[0] > len(moving.changed):
        moving.best[:] = moving.start
    else:
        for k in range(moving.counts[0]):
            op = moving.changed[k]
            moving.best[op] = moving.start[op]
    moving.counts[0] = 0


@njit(cache=True)
def restart(fixed: Fixed, moving: Moving, start: NDArray[np.int64]) -> None:
    """Move every operation to its start in another schedule that is legal in time."""
    for op in range(len(start)):
        if moving.start[op] != start[op]:
            _place(fixed, moving, op, start[op])
            _note(moving, op)
