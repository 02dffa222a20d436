"""The mixed-integer linear program of a problem: variables, constraints, objective, read-back.

Straight lines (A, B, R) have a binary ``[start <= d]`` for each operation and step of its mobility: then an operation
is busy in step d iff ``[start <= d] - [start <= d - occupancy]`` is 1, and a dependence is ``[start_v <= d + lag] <=
[start_u <= d]``, whose relaxation has integer corners. Loops (C) have ``start = stage * ii + slot``, with binaries
``[slot <= k]`` and an integer stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.problem import LatencyProblem, Problem, ResourceProblem
from gaus_lab.solvers.linear_rows import ONE, ZERO, LinearRows
from gaus_lab.solvers.time_windows import TimeWindows, Value

IntArray = NDArray[np.int64]
_NONE = np.zeros(0, dtype=np.int64)


@dataclass
class MilpModel:
    """What the four functions share.

    Attributes
    ----------
    windows : TimeWindows
    rows : LinearRows
    base : int array of shape (n_ops,)
        First binary of each operation; a loop has ``ii - 1`` of them each, a straight line as many as the mobility.
    stage, start : columns of shape (n_ops,), in a loop
    """

    windows: TimeWindows
    rows: LinearRows = field(default_factory=LinearRows)
    base: IntArray = field(default_factory=lambda: _NONE)
    stage: IntArray = field(default_factory=lambda: _NONE)
    start: IntArray = field(default_factory=lambda: _NONE)

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.windows.problem

    def by(self, ops: Any, steps: Any) -> IntArray:
        """Return the columns ``[start <= step]``, or the numbers that they are; the arguments broadcast."""
        place = steps - self.windows.early[ops]
        column: IntArray = np.where(place >= self.windows.moves[ops], ONE, self.base[ops] + place)
        return np.where(place < 0, ZERO, column)

    def slot_by(self, base: Any, slot: Any) -> IntArray:
        """Return the columns ``[slot <= k]`` of the binaries from `base` on, in a loop."""
        ii = self.problem.interval
        assert ii is not None
        return np.where(slot >= ii - 1, ONE, base + slot)


def ranges(begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return (index of the range, number in it) for all numbers of the ranges ``[begin, end)``.

    Examples
    --------
    >>> [part.tolist() for part in ranges(np.array([0, 7]), np.array([2, 8]))]
    [[0, 0, 1], [0, 1, 7]]
    """
    count = np.maximum(end - begin, 0)
    which = np.repeat(np.arange(len(begin)), count)
    first = np.concatenate([[0], np.cumsum(count)[:-1]]) if len(count) else count
    return which, np.arange(len(which)) - first[which] + begin[which]


# ---- variables ------------------------------------------------------------------------------------------------


def add_variables(model: MilpModel) -> None:
    """Add the binaries in rising order; in a loop also stages and starts."""
    windows, ii = model.windows, model.problem.interval
    if ii is not None:
        model.base, model.stage, model.start = _folded(model, windows.early, windows.late, ii)
        return
    moves = windows.moves
    binaries = model.rows.columns(np.zeros(int(moves.sum())), 1.0)
    model.base = np.cumsum(moves) - moves
    rising = np.flatnonzero(np.diff(np.repeat(np.arange(len(moves)), moves)) == 0)
    below = model.rows.rows(len(rising), upper=0.0)
    model.rows.add(below, binaries[rising], 1.0)
    model.rows.add(below, binaries[rising + 1], -1.0)


def _folded(
    model: MilpModel, first: IntArray, last: IntArray, ii: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Add times from `first` to `last` with stage and slot; return first binaries, stages, times."""
    rows, count = model.rows, len(first)
    stage = rows.columns(first // ii, last // ii)
    time = rows.columns(first, last, integer=False)
    binaries = rows.columns(np.zeros(count * (ii - 1)), 1.0).reshape(count, ii - 1)
    whole = rows.rows(count, float(ii - 1), float(ii - 1))  # time - ii * stage + sum of [slot <= k] = ii - 1
    rows.add(whole, time, 1.0)
    rows.add(whole, stage, -float(ii))
    rows.add(whole[:, None], binaries, 1.0)
    if ii > 2:
        below = rows.rows(count * (ii - 2), upper=0.0).reshape(count, ii - 2)
        rows.add(below, binaries[:, :-1], 1.0)
        rows.add(below, binaries[:, 1:], -1.0)
    base = binaries[:, 0] if ii > 1 else np.zeros(count, dtype=np.int64)
    return base, stage, time


# ---- constraints ----------------------------------------------------------------------------------------------


def add_constraints(model: MilpModel) -> None:
    """Add precedences, and rows that keep usage below limits, or below peaks that cost something."""
    windows, rows = model.windows, model.rows
    u, v, lag = windows.src, windows.dst, windows.lag
    if model.problem.interval is not None:
        after = rows.rows(len(u), upper=-lag.astype(float))
        rows.add(after, model.start[u], 1.0)
        rows.add(after, model.start[v], -1.0)
    else:
        early, late = windows.early, windows.late
        edge, step = ranges(np.maximum(early[u], early[v] - lag), np.minimum(late[u], late[v] - lag + 1))
        below = rows.rows(len(edge), upper=0.0)
        rows.add(below, model.by(v[edge], step + lag[edge]), 1.0)
        rows.add(below, model.by(u[edge], step), -1.0)
    _add_capacities(model)


def _add_capacities(model: MilpModel) -> None:
    problem, graph, rows = model.problem, model.problem.graph, model.rows
    limits = problem.limits or {}
    prices = problem.resource_weights if isinstance(problem, ResourceProblem) else {}
    assert isinstance(prices, Mapping)
    for resource in graph.resources:
        ops = graph.ops_on(resource)
        ops = ops[(graph.occupancy[ops] > 0) & (graph.weight[ops] > 0)]
        price, limit = prices.get(resource, 0), limits.get(resource, np.inf)
        if not len(ops) or (not price and resource not in limits):
            continue
        usage = _usage(model, ops) if problem.interval is None else _slot_usage(model, ops, problem.interval)
        if price:
            least = float(graph.weight[ops].max())
            peak = rows.columns(least, min(limit, float(graph.weight[ops].sum())))
            rows.add(usage, peak, -1.0)
            rows.cost(peak, float(price))
        else:
            rows.add(usage, ONE, -float(limit))


def _usage(model: MilpModel, ops: IntArray) -> IntArray:
    """Return rows ``usage <= 0``, one for each step in which an operation may be busy."""
    graph, windows, rows = model.problem.graph, model.windows, model.rows
    which, step = ranges(windows.early[ops], windows.late[ops] + graph.occupancy[ops])
    op = ops[which]
    steps, place = np.unique(step, return_inverse=True)
    usage = rows.rows(len(steps), upper=0.0)
    rows.add(usage[place], model.by(op, step), graph.weight[op])
    rows.add(usage[place], model.by(op, step - graph.occupancy[op]), -graph.weight[op])
    return usage


def _slot_usage(model: MilpModel, ops: IntArray, ii: int) -> IntArray:
    """Return rows ``usage <= 0``, one a slot: whole rounds of a long occupancy, and the slots of its rest."""
    graph, rows = model.problem.graph, model.rows
    usage, slot = rows.rows(ii, upper=0.0), np.arange(ii)[None, :]
    weight, base = graph.weight[ops][:, None], model.base[ops][:, None]
    rest = (graph.occupancy[ops] % ii)[:, None]
    rows.add(usage, ONE, weight * (graph.occupancy[ops] // ii)[:, None])
    since = slot - rest  # busy iff the slot of the start lies in (since, slot], modulo ii
    rows.add(usage, model.slot_by(base, slot), np.where(rest > 0, weight, 0))
    rows.add(usage, ONE, np.where((rest > 0) & (since < 0), weight, 0))
    rows.add(usage, model.slot_by(base, since % ii), np.where(rest > 0, -weight, 0))
    return usage


# ---- objective ------------------------------------------------------------------------------------------------


def add_objective(model: MilpModel) -> None:
    """Add what is minimised, beside the peaks that `add_constraints` priced."""
    problem = model.problem
    if isinstance(problem, ResourceProblem):
        _add_communication(model, problem)
    elif isinstance(problem, LatencyProblem):
        _add_makespan(model)
    elif problem.interval is not None:
        _add_modulo_footprint(model, problem.interval)
    else:
        _add_footprint(model)


def _add_communication(model: MilpModel, problem: ResourceProblem) -> None:
    graph, windows = problem.graph, model.windows
    slope = np.zeros(graph.n_ops)
    np.add.at(slope, windows.dst, graph.cost[graph.distance == 0])
    np.subtract.at(slope, windows.src, graph.cost[graph.distance == 0])
    slope *= float(problem.communication_weight or 0)
    model.rows.offset += float(slope @ windows.late)
    op = np.repeat(np.arange(graph.n_ops), windows.moves)
    model.rows.cost(np.arange(len(op)), -slope[op])


def _add_makespan(model: MilpModel) -> None:
    rows, windows, graph = model.rows, model.windows, model.problem.graph
    end = windows.late + graph.span
    makespan = rows.columns(float((windows.early + graph.span).max(initial=0)), float(windows.horizon))
    rows.cost(makespan, 1.0)
    after = rows.rows(graph.n_ops, lower=end.astype(float))  # makespan + sum of binaries >= late + span
    rows.add(after, makespan, 1.0)
    op = np.repeat(np.arange(graph.n_ops), windows.moves)
    rows.add(after[op], np.arange(len(op)), 1.0)


def _add_footprint(model: MilpModel) -> None:
    """Bound the live bits on every boundary; a value of several uses has a column a boundary."""
    rows, windows = model.rows, model.windows
    values = model.windows.values()
    footprint = rows.columns(0.0, float(sum(value.bits for value in values)))
    rows.cost(footprint, 1.0)
    below = rows.rows(model.problem.horizon or 0, upper=0.0)
    rows.add(below, footprint, -1.0)
    for value in values:
        end = max((int(windows.late[v]) + k for v, k in value.uses), default=len(below))
        step = np.arange(int(windows.early[value.producer]) + value.born, end)
        born = model.by(value.producer, step - value.born)
        if not value.uses:
            rows.add(below[step], born, value.bits)
        elif len(value.uses) == 1:
            ((v, shift),) = value.uses
            rows.add(below[step], born, value.bits)
            rows.add(below[step], model.by(v, step - shift), -value.bits)
        else:
            live = rows.columns(np.zeros(len(step)), 1.0, integer=False)
            rows.add(below[step], live, value.bits)
            for v, shift in value.uses:
                used = rows.rows(len(step), upper=0.0)  # born - used <= live
                rows.add(used, born, 1.0)
                rows.add(used, model.by(v, step - shift), -1.0)
                rows.add(used, live, -1.0)


def _add_modulo_footprint(model: MilpModel, ii: int) -> None:
    """Bound the live bits in every slot.

    The boundaries ``d < t`` with ``d mod ii = k`` number ``stage(t) + 1 - [slot(t) <= k]``; a value's are those before
    its death less those before its birth.
    """
    rows, values = model.rows, model.windows.values()
    footprint = rows.columns(0.0, np.inf)
    rows.cost(footprint, 1.0)
    live, slot = rows.rows(ii, upper=0.0), np.arange(ii)
    rows.add(live, footprint, -1.0)
    for value in values:
        _add_count(model, live, _death(model, value, ii), value.bits)
        op = value.producer
        _add_count(model, live, (model.stage[op], model.base[op], value.born), -value.bits)
    held = np.flatnonzero([not value.uses for value in values])
    for k in held.tolist():  # boundaries before the horizon
        rows.add(live, ONE, values[k].bits * ((model.problem.horizon or 0) + ii - 1 - slot) // ii)


def _add_count(model: MilpModel, live: IntArray, time: tuple[Any, Any, int] | None, factor: int) -> None:
    """Add how many boundaries before ``start + shift`` fold to each slot, for (stage, first binary, shift)."""
    if time is None:
        return
    ii, (stage, base, shift) = len(live), time
    slot = np.arange(ii)
    rows = model.rows
    rows.add(live, stage, factor)
    rows.add(live, ONE, factor * (1 + (shift + ii - 1 - slot) // ii))
    rows.add(live, model.slot_by(base, (slot - shift) % ii), -factor)


def _death(model: MilpModel, value: Value, ii: int) -> tuple[Any, Any, int] | None:
    """Return stage, first binary and shift of a value's death; None where that is the horizon."""
    if not value.uses:
        return None
    if len(value.uses) == 1:
        ((op, shift),) = value.uses
        return model.stage[op], model.base[op], shift
    windows = model.windows
    first = max(int(windows.early[v]) + k for v, k in value.uses)
    last = max(int(windows.late[v]) + k for v, k in value.uses)
    base, stage, time = _folded(model, np.array([first]), np.array([last]), ii)
    after = model.rows.rows(len(value.uses), upper=[-float(shift) for _, shift in value.uses])
    model.rows.add(after, model.start[[v for v, _ in value.uses]], 1.0)
    model.rows.add(after, time, -1.0)
    return stage[0], base[0], 0


# ---- read-back ------------------------------------------------------------------------------------------------


def read_back(model: MilpModel, values: NDArray[np.float64]) -> IntArray:
    """Return the starts of a solution, shape (n_ops,), near-integers rounded; only a verified one counts."""
    if model.problem.interval is not None:
        ii, n_ops = model.problem.interval, model.problem.graph.n_ops
        binary = model.base[:, None] + np.arange(ii - 1)
        slot = ii - 1 - np.rint(values[binary]).sum(axis=1) if ii > 1 else np.zeros(n_ops)
        return (np.rint(values[model.stage]) * ii + slot).astype(np.int64)
    moves = model.windows.moves
    op = np.repeat(np.arange(len(moves)), moves)
    early = np.bincount(op, np.rint(values[: len(op)]), len(moves))
    return (model.windows.late - early).astype(np.int64)


def solution(model: MilpModel, start: IntArray) -> tuple[IntArray, NDArray[np.float64]]:
    """Return columns and values of a schedule, as far as they are starts: enough for a warm start."""
    windows, ii = model.windows, model.problem.interval
    if ii is None:
        which, step = ranges(windows.early, windows.late)
        return np.arange(len(which)), (start[which] <= step).astype(float)
    binary = model.base[:, None] + np.arange(ii - 1)
    below = (start % ii)[:, None] <= np.arange(ii - 1)
    columns = np.concatenate([model.stage, model.start, binary.ravel()])
    return columns, np.concatenate([start // ii, start, below.ravel()]).astype(float)
