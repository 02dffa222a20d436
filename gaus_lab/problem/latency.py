"""Formulation R: makespan under capacities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaus_lab import bounds
from gaus_lab.problem.base import Problem
from gaus_lab.schedule import Schedule


@dataclass(frozen=True, eq=False, repr=False)
class LatencyProblem(Problem):
    """Formulation R: minimise the makespan under capacities, the classical resource-constrained problem.

    Parameters
    ----------
    graph, limits
        As `Problem`.
    horizon : int, steps, default None
        Unlimited by default: then a schedule always exists if every operation fits its limit.

    References
    ----------
    De Micheli, "Synthesis and Optimization of Digital Circuits", McGraw-Hill 1994, section 5.4.

    Examples
    --------
    >>> from gaus_lab.graph import Graph
    >>> problem = LatencyProblem(Graph.build(["a", "b", "c"]), limits={"op": 2})
    >>> problem.objective(problem.schedule([0, 0, 1])), problem.bound()
    (2, 2)
    """

    formulation: ClassVar[str] = "R"

    def _default_horizon(self) -> None:
        return None

    def objective(self, schedule: Schedule) -> int:
        """Return the makespan, steps."""
        return schedule.makespan

    def bound(self) -> int:
        """Return `bounds.makespan_bound`."""
        assert self.limits is not None
        return bounds.makespan_bound(self.graph, self.limits)
