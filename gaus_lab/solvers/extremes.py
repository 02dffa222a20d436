"""The two schedules at the ends of every operation's mobility: as soon, and as late as possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaus_lab.analysis import alap, asap, critical_path_length
from gaus_lab.problem import Problem
from gaus_lab.run import Run


@dataclass(frozen=True)
class Asap:
    """Starts every operation as soon as its dependences allow.

    Objective: none; the makespan is the smallest possible. Optimal for formulation R without limits. Time and
    memory O(n + m) without loop-carried edges; with them (formulation C) as `asap`. Deterministic. Capacities are
    not looked at: where limits bind, the schedule is illegal and no schedule results.

    Examples
    --------
    >>> from gaus_lab import Graph, LatencyProblem, solve
    >>> solve(LatencyProblem(Graph.build(["a", "b"], [("a", "b")])), Asap()).schedule.to_dict()
    {'a': 0, 'b': 1}
    """

    name: ClassVar[str] = "asap"
    formulations: ClassVar[frozenset[str]] = frozenset("ABCR")

    def run(self, problem: Problem, run: Run) -> None:
        """Offer the schedule of earliest starts."""
        run.offer(asap(problem.graph, problem.interval))


@dataclass(frozen=True)
class Alap:
    """Starts every operation as late as its dependences and the horizon allow.

    Without a horizon (formulation R) the critical path takes its place. Objective: none. Time and memory O(n + m)
    without loop-carried edges; with them (formulation C) as `alap`. Deterministic. Capacities are not looked at:
    where limits bind, the schedule is illegal and no schedule results.

    Examples
    --------
    >>> from gaus_lab import Graph, ResourceProblem, solve
    >>> solve(ResourceProblem(Graph.build(["a", "b"]), horizon=3), Alap()).schedule.to_dict()
    {'a': 2, 'b': 2}
    """

    name: ClassVar[str] = "alap"
    formulations: ClassVar[frozenset[str]] = frozenset("ABCR")

    def run(self, problem: Problem, run: Run) -> None:
        """Offer the schedule of latest starts."""
        graph = problem.graph
        horizon = critical_path_length(graph) if problem.horizon is None else problem.horizon
        run.offer(alap(graph, horizon, problem.interval))
