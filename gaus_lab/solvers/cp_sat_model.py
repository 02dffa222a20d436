"""The CP-SAT model of a problem: variables, constraints, objective, read-back.

Straight lines (A, B, R) have order literals ``[start <= d]`` as long as there are not too many of them: usage, capacity
and liveness are then linear in literals, ``busy in d = [start <= d] - [start <= d - occupancy]``. Beyond that,
intervals with cumulative constraints take their place. Loops (C) have ``start = stage * ii + slot`` with order
literals of the slot, whose number does not depend on the horizon.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.problem import FootprintProblem, LatencyProblem, ResourceProblem
from gaus_lab.solvers.cp_sat_footprint import (
    add_cumulative_footprint,
    add_footprint,
    add_modulo_footprint,
    most_bits,
)
from gaus_lab.solvers.cp_sat_terms import CpModel, Sum, folded, order_literals
from gaus_lab.solvers.time_windows import TimeWindows

IntArray = NDArray[np.int64]

#: Above this many cells (order literals and occupied steps), cumulative constraints take the place of literals.
MAX_CELLS = 300_000


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
        model.order = [order_literals(cp, *row) for row in rows]
    if isinstance(model.problem, ResourceProblem):
        _add_peaks(model)


def _add_slots(model: CpModel, ii: int) -> None:
    windows = model.windows
    for start, first, last in zip(model.start, windows.early.tolist(), windows.late.tolist(), strict=True):
        stage, order = folded(model.cp, start, first, last, ii)
        model.stage.append(stage)
        model.order.append(order)


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
        model.goal = model.cp.new_int_var(0, max(most_bits(model, values), 0), "")
        if model.problem.interval is not None:
            add_modulo_footprint(model, values, model.problem.interval)
        elif model.order:
            add_footprint(model, values)
        else:
            add_cumulative_footprint(model, values)
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
