"""The footprint in a CP-SAT model: live bits on boundaries, as literals, as intervals, and folded in a loop."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from gaus_lab.solvers.cp_sat_terms import CpModel, Sum, folded
from gaus_lab.solvers.time_windows import Value


def most_bits(model: CpModel, values: list[Value]) -> int:
    """Return the footprint if all values are live all the time."""
    ii = model.problem.interval
    if ii is None:
        return sum(value.bits for value in values)
    longest = model.windows.horizon + max((shift for v in values for _, shift in v.uses), default=0)
    return sum(value.bits for value in values) * (longest // ii + 1)


def add_footprint(model: CpModel, values: list[Value]) -> None:
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


def add_cumulative_footprint(model: CpModel, values: list[Value]) -> None:
    """Make each lifetime an interval, and bound what they cumulate to by the goal."""
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


def add_modulo_footprint(model: CpModel, values: list[Value], ii: int) -> None:
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
    return *folded(cp, death, first, last, ii), 0
