"""The CP-SAT model of a problem: variables, constraints, objective, read-back.

Straight lines (A, B, R) have order literals ``[start <= d]`` as long as there are not too many of them: usage, capacity
and liveness are then linear in literals, ``busy in d = [start <= d] - [start <= d - occupancy]``. Beyond that,
intervals with cumulative constraints take their place. Loops (C) have ``start = stage * ii + slot`` with order
literals of the slot, whose number does not depend on the horizon.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from gaus_lab.problem import FootprintProblem, LatencyProblem, Problem, ResourceProblem
from gaus_lab.solvers.time_windows import TimeWindows, Value

IntArray = NDArray[np.int64]

#: Above this many cells (order literals and occupied steps), cumulative constraints take the place of literals.
MAX_CELLS = 300_000


@dataclass
class Sum:
    """A linear expression under construction: literals, their factors, and a constant."""

    terms: list[Any] = field(default_factory=list)
    factors: list[int] = field(default_factory=list)
    constant: int = 0

    def add(self, term: Any, factor: int) -> None:
        """Add a literal, or a number, times a factor."""
        if isinstance(term, int):
            self.constant += term * factor
        else:
            self.terms.append(term)
            self.factors.append(factor)

    def expression(self) -> Any:
        """Return it for CP-SAT."""
        return cp_model.LinearExpr.weighted_sum(self.terms, self.factors) + self.constant


@dataclass
class CpModel:
    """What the four functions share.

    Attributes
    ----------
    windows : TimeWindows
    cp : CP-SAT's model
    start : list of variables, one an operation
    order : list of literals for each operation; ``order[i][k]`` is ``[start <= early + k]``, or of its slot in a loop
    stage : list of variables, one an operation, in a loop
    peak : variable for each resource whose peak usage counts
    goal : what is minimised
    """

    windows: TimeWindows
    cp: Any = field(default_factory=cp_model.CpModel)
    start: list[Any] = field(default_factory=list)
    order: list[list[Any]] = field(default_factory=list)
    stage: list[Any] = field(default_factory=list)
    peak: dict[str, Any] = field(default_factory=dict)
    goal: Any = 0

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.windows.problem

    def by(self, op: int, step: int) -> Any:
        """Return the literal ``[start <= step]`` of an operation, or the number that it is."""
        place = step - int(self.windows.early[op])
        literals = self.order[op]
        return (0 if place < 0 else 1) if place < 0 or place >= len(literals) else literals[place]

    def slot_by(self, op: int, slot: int) -> Any:
        """Return the literal ``[slot <= slot]`` of an operation in a loop; slots wrap with their stage."""
        literals = self.order[op]
        return literals[slot] if slot < len(literals) else 1


def cells(windows: TimeWindows) -> int:
    """Return how many cells a model with order literals has: literals, busy steps, boundaries of lifetimes."""
    graph, ii = windows.problem.graph, windows.problem.interval
    if ii is not None:
        return 2 * graph.n_ops * ii
    cells = int((windows.moves + graph.occupancy).sum())
    if isinstance(windows.problem, FootprintProblem):
        last = windows.early.copy()
        np.maximum.at(last, windows.src, windows.late[windows.dst])
        cells += int((last - windows.early).sum())
    return cells


# ---- variables ------------------------------------------------------------------------------------------------


def add_variables(model: CpModel) -> None:
    """Add starts, their literals, and the peaks."""
    windows, cp = model.windows, model.cp
    model.start = [
        cp.new_int_var(a, b, "") if a < b else a
        for a, b in zip(windows.early.tolist(), windows.late.tolist(), strict=True)
    ]
    if model.problem.interval is not None:
        _add_slots(model, model.problem.interval)
    elif cells(windows) <= MAX_CELLS:
        rows = zip(model.start, windows.late.tolist(), windows.moves.tolist(), strict=True)
        model.order = [_order_literals(cp, *row) for row in rows]
    if isinstance(model.problem, ResourceProblem):
        _add_peaks(model)


def _order_literals(cp: Any, value: Any, largest: int, count: int) -> list[Any]:
    """Return `count` literals, each implying the next, with ``value = largest - sum of literals``."""
    literals = [cp.new_bool_var("") for _ in range(count)]
    for earlier, later in pairwise(literals):
        cp.add_implication(earlier, later)
    if literals:
        cp.add(value + cp_model.LinearExpr.sum(literals) == largest)
    return literals


def _add_slots(model: CpModel, ii: int) -> None:
    windows = model.windows
    for start, first, last in zip(model.start, windows.early.tolist(), windows.late.tolist(), strict=True):
        stage, order = _folded(model.cp, start, first, last, ii)
        model.stage.append(stage)
        model.order.append(order)


def _folded(cp: Any, time: Any, first: int, last: int, ii: int) -> tuple[Any, list[Any]]:
    """Return the stage of a time from `first` to `last`, and the order literals of its slot."""
    stage, slot = cp.new_int_var(first // ii, last // ii, ""), cp.new_int_var(0, ii - 1, "")
    cp.add(time == stage * ii + slot)
    return stage, _order_literals(cp, slot, ii - 1, ii - 1)


def _add_peaks(model: CpModel) -> None:
    problem, graph = model.problem, model.problem.graph
    assert isinstance(problem, ResourceProblem) and problem.limits is not None
    assert isinstance(problem.resource_weights, Mapping)
    for resource, price in problem.resource_weights.items():
        ops = graph.ops_on(resource)
        ops = ops[graph.occupancy[ops] > 0]
        most = min(int(graph.weight[ops].sum()), problem.limits.get(resource, 2**62))
        if price:
            model.peak[resource] = model.cp.new_int_var(int(graph.weight[ops].max(initial=0)), most, "")


# ---- constraints ----------------------------------------------------------------------------------------------


def add_constraints(model: CpModel) -> None:
    """Add precedences, and what bounds usage: limits, and peaks that count."""
    windows, cp = model.windows, model.cp
    ordered = bool(model.order) and model.problem.interval is None
    for u, v, lag in zip(windows.src.tolist(), windows.dst.tolist(), windows.lag.tolist(), strict=True):
        cp.add(model.start[u] + lag <= model.start[v])
        if ordered:
            _add_order_clauses(model, u, v, lag)
    limits = model.problem.limits or {}
    for resource in model.problem.graph.resources:
        cap = model.peak.get(resource, limits.get(resource))
        if cap is not None:
            _add_capacity(model, resource, cap)


def _add_order_clauses(model: CpModel, u: int, v: int, lag: int) -> None:
    """Add ``[start_v <= d + lag] => [start_u <= d]`` where neither is known."""
    early, late = model.windows.early, model.windows.late
    for step in range(max(int(early[u]), int(early[v]) - lag), min(int(late[u]), int(late[v]) - lag + 1)):
        consumer, producer = model.by(v, step + lag), model.by(u, step)
        if isinstance(consumer, int):
            model.cp.add_bool_or([producer])
        else:
            model.cp.add_implication(consumer, producer)


def _add_capacity(model: CpModel, resource: str, cap: Any) -> None:
    graph, ii = model.problem.graph, model.problem.interval
    ops = graph.ops_on(resource)
    ops = ops[(graph.occupancy[ops] > 0) & (graph.weight[ops] > 0)]
    if not len(ops):
        return
    if not model.order:
        spans = [
            model.cp.new_fixed_size_interval_var(model.start[i], int(graph.occupancy[i]), "")
            for i in ops.tolist()
        ]
        model.cp.add_cumulative(spans, graph.weight[ops].tolist(), cap)
        return
    usage = _usage(model, ops) if ii is None else _slot_usage(model, ops, ii)
    for amount in usage.values():
        model.cp.add(amount.expression() <= cap)


def _usage(model: CpModel, ops: IntArray) -> dict[int, Sum]:
    """Return the usage in each step in which it may rise; the peak is among them."""
    graph, windows = model.problem.graph, model.windows
    usage: dict[int, Sum] = defaultdict(Sum)
    for op in ops.tolist():
        occupancy, weight = int(graph.occupancy[op]), int(graph.weight[op])
        for step in range(int(windows.early[op]), int(windows.late[op]) + occupancy):
            usage[step].add(model.by(op, step), weight)
            usage[step].add(model.by(op, step - occupancy), -weight)
    return usage


def _slot_usage(model: CpModel, ops: IntArray, ii: int) -> dict[int, Sum]:
    """Return the usage in each slot: whole rounds of a long occupancy, and the slots of the rest of it."""
    graph = model.problem.graph
    usage: dict[int, Sum] = defaultdict(Sum)
    for op in ops.tolist():
        rounds, rest = divmod(int(graph.occupancy[op]), ii)
        weight = int(graph.weight[op])
        for slot in range(ii):
            usage[slot].constant += weight * rounds
            if rest:
                _add_passed(model, usage[slot], op, slot, slot - rest, ii, weight)
    return usage


def _add_passed(model: CpModel, total: Sum, op: int, to: int, since: int, ii: int, factor: int) -> None:
    """Add whether the operation's slot lies in ``(since, to]``, with `since` wrapped into the slots."""
    total.add(model.slot_by(op, to), factor)
    if since >= 0:
        total.add(model.slot_by(op, since), -factor)
    else:
        total.add(1, factor)
        total.add(model.slot_by(op, since + ii), -factor)


# ---- objective ------------------------------------------------------------------------------------------------


def add_objective(model: CpModel) -> None:
    """Add what is minimised."""
    problem = model.problem
    if isinstance(problem, ResourceProblem):
        model.goal = _cost(model, problem)
    elif isinstance(problem, LatencyProblem):
        model.goal = model.cp.new_int_var(0, model.windows.horizon, "")
        for op, start in enumerate(model.start):
            model.cp.add(start + int(problem.graph.span[op]) <= model.goal)
    else:
        values = model.windows.values()
        model.goal = model.cp.new_int_var(0, max(_most_bits(model, values), 0), "")
        if model.problem.interval is not None:
            _add_modulo_footprint(model, values, model.problem.interval)
        elif model.order:
            _add_footprint(model, values)
        else:
            _add_cumulative_footprint(model, values)
    model.cp.minimize(model.goal)


def _cost(model: CpModel, problem: ResourceProblem) -> Any:
    assert isinstance(problem.resource_weights, Mapping) and problem.communication_weight is not None
    total = Sum()
    for resource, peak in model.peak.items():
        total.add(peak, problem.resource_weights[resource])
    slope = np.zeros(problem.graph.n_ops, dtype=np.int64)
    keep = np.flatnonzero(problem.graph.distance == 0)
    np.add.at(slope, problem.graph.dst[keep], problem.graph.cost[keep])
    np.subtract.at(slope, problem.graph.src[keep], problem.graph.cost[keep])
    for op in np.flatnonzero(slope).tolist() if problem.communication_weight else ():
        total.add(model.start[op], int(slope[op]) * problem.communication_weight)
    return total.expression()


def _most_bits(model: CpModel, values: list[Value]) -> int:
    """Return the footprint if all values are live all the time."""
    ii = model.problem.interval
    if ii is None:
        return sum(value.bits for value in values)
    longest = model.windows.horizon + max((shift for v in values for _, shift in v.uses), default=0)
    return sum(value.bits for value in values) * (longest // ii + 1)


def _add_footprint(model: CpModel, values: list[Value]) -> None:
    """Bound the live bits on every boundary by the goal; a value of several uses has a literal a boundary."""
    windows, cp = model.windows, model.cp
    live: dict[int, Sum] = defaultdict(Sum)
    for value in values:
        end = max((int(windows.late[v]) + k for v, k in value.uses), default=model.problem.horizon or 0)
        for step in range(int(windows.early[value.producer]) + value.born, end):
            born = model.by(value.producer, step - value.born)
            used = [model.by(v, step - shift) for v, shift in value.uses] or [0]
            if len(used) == 1:
                live[step].add(born, value.bits)
                live[step].add(used[0], -value.bits)
            elif not all(isinstance(u, int) and u == 1 for u in used):
                literal = _live_literal(cp, born, used)
                live[step].add(literal, value.bits)
    for amount in live.values():
        cp.add(amount.expression() <= model.goal)


def _live_literal(cp: Any, born: Any, used: list[Any]) -> Any:
    """Return a literal that is true where the value is born and one of its uses is still to come."""
    if isinstance(born, int) and any(isinstance(u, int) and u == 0 for u in used):
        return born
    literal = cp.new_bool_var("")
    condition = [] if isinstance(born, int) else [born.negated()]
    for use in used:
        if not isinstance(use, int):
            cp.add_bool_or([*condition, use, literal])
        elif use == 0:
            cp.add_bool_or([*condition, literal])
    return literal


def _add_cumulative_footprint(model: CpModel, values: list[Value]) -> None:
    cp, windows = model.cp, model.windows
    spans, bits = [], []
    for value in values:
        last = max((int(windows.late[v]) + k for v, k in value.uses), default=model.problem.horizon or 0)
        first = int(windows.early[value.producer]) + value.born
        if first >= last:
            continue
        death = last
        if value.uses:
            death = cp.new_int_var(first, last, "")
            for v, shift in value.uses:
                cp.add(model.start[v] + shift <= death)
        length = cp.new_int_var(0, last - first, "")
        spans.append(cp.new_interval_var(model.start[value.producer] + value.born, length, death, ""))
        bits.append(value.bits)
    cp.add_cumulative(spans, bits, model.goal)


def _add_modulo_footprint(model: CpModel, values: list[Value], ii: int) -> None:
    """Bound the live bits in every slot by the goal.

    The boundaries ``d < t`` with ``d mod ii = k`` number ``stage(t) + 1 - [slot(t) <= k]``; a value's are those before
    its death less those before its birth.
    """
    live = [Sum() for _ in range(ii)]
    for value in values:
        death = _death(model, value, ii)
        op, born = value.producer, value.born
        for slot, total in enumerate(live):
            _add_count(total, *death, slot, ii, value.bits)
            _add_count(total, model.stage[op], model.order[op], born, slot, ii, -value.bits)
    for total in live:
        model.cp.add(total.expression() <= model.goal)


def _add_count(total: Sum, stage: Any, order: list[Any], shift: int, slot: int, ii: int, factor: int) -> None:
    """Add how many boundaries before ``start + shift`` fold to a slot, for a start of a stage and a slot."""
    moved = (slot - shift) % ii  # d < start + shift in slot k: d - shift < start in slot k - shift
    total.add(stage, factor)
    total.add(1, factor)
    total.add(order[moved] if moved < len(order) else 1, -factor)
    # Of the boundaries from 0 to before the shift, which the change of variable puts below 0.
    total.add((shift + ii - 1 - slot) // ii, factor)


def _death(model: CpModel, value: Value, ii: int) -> tuple[Any, list[Any], int]:
    """Return stage, order literals and shift of a value's death."""
    cp = model.cp
    if not value.uses:
        stage, slot = divmod(model.problem.horizon or 0, ii)
        return stage, [int(slot <= k) for k in range(ii - 1)], 0
    if len(value.uses) == 1:
        ((op, shift),) = value.uses
        return model.stage[op], model.order[op], shift
    windows = model.windows
    first = max(int(windows.early[v]) + k for v, k in value.uses)
    last = max(int(windows.late[v]) + k for v, k in value.uses)
    death = cp.new_int_var(first, last, "")
    for v, shift in value.uses:
        cp.add(model.start[v] + shift <= death)
    return *_folded(cp, death, first, last, ii), 0


# ---- read-back ------------------------------------------------------------------------------------------------


def read_back(model: CpModel, value_of: Any) -> IntArray:
    """Return the starts of a solution, shape (n_ops,)."""
    return np.array([s if isinstance(s, int) else value_of(s) for s in model.start], dtype=np.int64)


def add_hint(model: CpModel, start: IntArray) -> None:
    """Hint a schedule: starts, literals, stages and peaks."""
    cp, ii = model.cp, model.problem.interval
    for op, value in enumerate(start.tolist()):
        if not isinstance(model.start[op], int):
            cp.add_hint(model.start[op], value)
        if ii is not None:
            cp.add_hint(model.stage[op], value // ii)
        place = value % ii if ii is not None else value - int(model.windows.early[op])
        for k, literal in enumerate(model.order[op] if model.order else ()):
            cp.add_hint(literal, int(place <= k))
    peaks = model.problem.schedule(start).peak_usage if model.peak else {}
    for resource, peak in model.peak.items():
        cp.add_hint(peak, peaks[resource])
    if not isinstance(model.problem, ResourceProblem):
        cp.add_hint(model.goal, model.problem.objective(model.problem.schedule(start)))
