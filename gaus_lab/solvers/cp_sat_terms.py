"""What a CP-SAT model is put together from: sums of literals, times as order literals."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ortools.sat.python import cp_model

from gaus_lab.problem import Problem
from gaus_lab.solvers.time_windows import TimeWindows


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


def order_literals(cp: Any, value: Any, largest: int, count: int) -> list[Any]:
    """Return `count` literals, each implying the next, with ``value = largest - sum of literals``."""
    literals = [cp.new_bool_var("") for _ in range(count)]
    for earlier, later in pairwise(literals):
        cp.add_implication(earlier, later)
    if literals:
        cp.add(value + cp_model.LinearExpr.sum(literals) == largest)
    return literals


def folded(cp: Any, time: Any, first: int, last: int, ii: int) -> tuple[Any, list[Any]]:
    """Return the stage of a time from `first` to `last`, and the order literals of its slot."""
    stage, slot = cp.new_int_var(first // ii, last // ii, ""), cp.new_int_var(0, ii - 1, "")
    cp.add(time == stage * ii + slot)
    return stage, order_literals(cp, slot, ii - 1, ii - 1)
