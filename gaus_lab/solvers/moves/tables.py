"""What the compiled moves read and write: a problem and a schedule as flat arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaus_lab.problem import Problem, ResourceProblem
from gaus_lab.solvers.time_windows import TimeWindows

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

#: Limit of a resource without one.
UNLIMITED = 2**62


class Fixed(NamedTuple):
    """What the moves read.

    Attributes
    ----------
    movable : operations whose mobility is not 0
    early, late : window of each start, steps
    in_offsets, in_op, in_lag : for each operation its producers, with ``start[producer] + lag <= start``
    out_offsets, out_op, out_lag : its consumers
    slope : change of the weighted communication when the operation starts a step later
    row : row of the operation's resource in `Moving.usage`, -1 where its usage does not matter
    occupancy, weight : of each operation
    limit, price, even : of each row; price of the peak, and the usage if it were spread evenly
    bits, born : of each value; 0 bits where it does not matter
    use_offsets, use_op, use_shift : for each value, what ends it: ``start[op] + shift``
    own_use : for each value, whether the start of its own producer may end it
    of_offsets, of_value : for each operation, the values of others that it may end
    held : step to which values without uses are live
    price_live, even_live : of the footprint
    ii : initiation interval, 0 in a straight line
    share : weight of the squared profiles beside their peaks
    """

    movable: IntArray
    early: IntArray
    late: IntArray
    in_offsets: IntArray
    in_op: IntArray
    in_lag: IntArray
    out_offsets: IntArray
    out_op: IntArray
    out_lag: IntArray
    slope: FloatArray
    row: IntArray
    occupancy: IntArray
    weight: IntArray
    limit: IntArray
    price: FloatArray
    even: FloatArray
    bits: IntArray
    born: IntArray
    use_offsets: IntArray
    use_op: IntArray
    use_shift: IntArray
    own_use: NDArray[np.bool_]
    of_offsets: IntArray
    of_value: IntArray
    held: int
    price_live: float
    even_live: float
    ii: int
    share: float


class Moving(NamedTuple):
    """What the moves change.

    Attributes
    ----------
    start : of each operation, steps
    death : of each value, steps: one past its last live boundary
    usage : of shape (rows, cells), units in each step or slot
    usage_peaks : of shape (rows, 2 * leaves), a tournament of maxima over the cells of each row
    live, live_peaks : the same for live bits
    best : starts of the best schedule, `changed` since then are the first `counts[0]` entries of it
    random : state of the generator
    """

    start: IntArray
    death: IntArray
    usage: IntArray
    usage_peaks: IntArray
    live: IntArray
    live_peaks: IntArray
    best: IntArray
    changed: IntArray
    counts: IntArray
    random: NDArray[np.uint64]


def fixed_of(windows: TimeWindows, share: float) -> Fixed:
    """Return the arrays of a problem of formulation A, B or C."""
    problem, graph = windows.problem, windows.problem.graph
    ii = problem.interval or 0
    priced = isinstance(problem, ResourceProblem)
    keep = windows.src != windows.dst  # a self-edge holds wherever its operation is
    src, dst, lag = windows.src[keep], windows.dst[keep], windows.lag[keep]
    row, limit, price, even = _rows(problem, windows)
    bits, born, uses, of_values, held = _no_values(graph.n_ops) if priced else _values(windows)
    in_offsets, in_op, in_lag = _grouped(graph.n_ops, dst, src, lag)
    out_offsets, out_op, out_lag = _grouped(graph.n_ops, src, dst, lag)
    return Fixed(
        movable=np.flatnonzero(windows.moves > 0),
        early=windows.early,
        late=windows.late,
        in_offsets=in_offsets,
        in_op=in_op,
        in_lag=in_lag,
        out_offsets=out_offsets,
        out_op=out_op,
        out_lag=out_lag,
        slope=_slope(windows),
        row=row,
        occupancy=graph.occupancy.copy(),
        weight=graph.weight.astype(np.int64),
        limit=limit,
        price=price,
        even=even,
        bits=bits,
        born=born,
        use_offsets=uses[0],
        use_op=uses[1],
        use_shift=uses[2],
        own_use=_own_use(*uses[:2]),
        of_offsets=of_values[0],
        of_value=of_values[1],
        held=held,
        price_live=0.0 if priced else 1.0,
        even_live=_even_live(windows, bits),
        ii=ii,
        share=share,
    )


def _even_live(windows: TimeWindows, bits: IntArray) -> float:
    """Return the live bits on a boundary if they were spread evenly, and every value as short as its edges allow."""
    problem, graph = windows.problem, windows.problem.graph
    shortest = np.zeros(graph.n_ops, dtype=np.int64)
    kept = _kept(windows)
    np.maximum.at(shortest, graph.src[kept], np.maximum(graph.lag[kept], 1))
    cells = problem.interval or max(windows.horizon, 1)
    return max(float((bits.astype(float) * shortest).sum()) / cells, 1e-9)


def _kept(windows: TimeWindows) -> IntArray:
    graph = windows.problem.graph
    everything = windows.problem.interval is not None
    return np.arange(graph.n_edges) if everything else np.flatnonzero(graph.distance == 0)


def _grouped(
    n_ops: int, key: IntArray, first: IntArray, second: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return offsets by key, and two columns in its order."""
    order = np.argsort(key, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(key, minlength=n_ops))]).astype(np.int64)
    return offsets, first[order], second[order]


def _slope(windows: TimeWindows) -> FloatArray:
    problem, graph = windows.problem, windows.problem.graph
    slope = np.zeros(graph.n_ops)
    if isinstance(problem, ResourceProblem) and problem.communication_weight:
        cost = graph.cost[_kept(windows)] * float(problem.communication_weight)
        np.add.at(slope, windows.dst, cost)
        np.subtract.at(slope, windows.src, cost)
    return slope


def _rows(problem: Problem, windows: TimeWindows) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Return the row of each operation, and limit, price and even usage of each row."""
    graph, limits = problem.graph, problem.limits or {}
    prices = problem.resource_weights if isinstance(problem, ResourceProblem) else {}
    assert isinstance(prices, Mapping)
    matter = [r for r in graph.resources if prices.get(r) or r in limits]
    place = {resource: k for k, resource in enumerate(matter)}
    of_resource = np.array([place.get(r, -1) for r in graph.resources], dtype=np.int64)
    busy = (graph.weight > 0) & (graph.occupancy > 0)
    row = np.where(busy, of_resource[graph.resource_index], -1) if graph.n_ops else np.zeros(0, np.int64)
    limit = np.array([limits.get(r, UNLIMITED) for r in matter], dtype=np.int64)
    price = np.array([prices.get(r, 0) for r in matter], dtype=np.float64)
    work = np.bincount(row + 1, graph.weight * graph.occupancy.astype(float), len(matter) + 1)[1:]
    cells = problem.interval or max(windows.horizon, 1)
    return row, limit, price, np.maximum(work / cells, 1e-9)


def _values(
    windows: TimeWindows,
) -> tuple[IntArray, IntArray, tuple[IntArray, ...], tuple[IntArray, ...], int]:
    n_ops = windows.problem.graph.n_ops
    bits, born = np.zeros(n_ops, np.int64), np.zeros(n_ops, np.int64)
    value, use, shift = [], [], []
    for item in windows.values():
        bits[item.producer], born[item.producer] = item.bits, item.born
        for op, steps in item.uses:
            value.append(item.producer)
            use.append(op)
            shift.append(steps)
    values, uses, shifts = (np.array(a, dtype=np.int64) for a in (value, use, shift))
    by_value = _grouped(n_ops, values, uses, shifts)
    foreign = uses != values  # its own birth moves with it
    by_op = _grouped(n_ops, uses[foreign], values[foreign], shifts[foreign])[:2]
    return bits, born, by_value, by_op, windows.problem.horizon or 0


def _own_use(use_offsets: IntArray, use_op: IntArray) -> NDArray[np.bool_]:
    """Return the values that their own producers use: in a later iteration, or by their birth alone."""
    value = np.repeat(np.arange(len(use_offsets) - 1), np.diff(use_offsets))
    own = np.zeros(len(use_offsets) - 1, dtype=np.bool_)
    own[value[value == use_op]] = True
    return own


def _no_values(n_ops: int) -> tuple[IntArray, IntArray, tuple[IntArray, ...], tuple[IntArray, ...], int]:
    none, zeros = np.zeros(0, np.int64), np.zeros(n_ops, np.int64)
    offsets = np.zeros(n_ops + 1, np.int64)
    return zeros, zeros, (offsets, none, none), (offsets, none), 0


def moving_of(fixed: Fixed, start: IntArray, seed: int) -> Moving:
    """Return the state of a schedule that is legal in time."""
    n_ops, n_rows, ii = len(fixed.early), len(fixed.limit), fixed.ii
    cells = ii or int((fixed.late + np.maximum(fixed.occupancy, 1) + fixed.born).max(initial=1)) + 1
    cells = max(cells, 1 if ii else fixed.held + 1)
    leaves = 1 << max(cells - 1, 0).bit_length()
    return Moving(
        start.astype(np.int64).copy(),
        np.zeros(n_ops, np.int64),
        np.zeros((n_rows, cells), np.int64),
        np.zeros((n_rows, 2 * leaves), np.int64),
        np.zeros(cells, np.int64),
        np.zeros(2 * leaves, np.int64),
        start.astype(np.int64).copy(),
        np.zeros(n_ops, np.int64),
        np.zeros(2, np.int64),
        np.random.default_rng(seed).integers(1, 2**63, 2, dtype=np.uint64),
    )
