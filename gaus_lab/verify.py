"""`verify`: the only judge of schedules. It knows problems and constraints, and no solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaus_lab.constraints import Violation
from gaus_lab.errors import ProblemError
from gaus_lab.problem import Problem
from gaus_lab.schedule import Schedule


def verify(problem: Problem, schedule: Schedule | Mapping[str, int] | Any) -> list[Violation]:
    """Return every constraint of the problem that the schedule breaks; [] if it is legal.

    Parameters
    ----------
    problem : Problem
    schedule : Schedule, mapping of operation name to start, or int array of shape (n_ops,), steps

    Raises
    ------
    ProblemError
        The schedule does not fit the problem: another graph, another ii, a missing start.

    Examples
    --------
    >>> from gaus_lab.graph import Graph
    >>> from gaus_lab.problem import LatencyProblem
    >>> problem = LatencyProblem(Graph.build(["a", "b"], [("a", "b")]), limits={"op": 1})
    >>> for violation in verify(problem, {"a": 0, "b": 0}):
    ...     print(violation)
    precedence a -> b violated: result at 1, start at 0 (distance 0)
    capacity of op violated in step 0: usage 2, limit 1 (a, b)
    """
    if not isinstance(schedule, Schedule):
        schedule = problem.schedule(schedule)
    if schedule.graph is not problem.graph and schedule.graph.ops != problem.graph.ops:
        raise ProblemError(
            f"the schedule is of graph {schedule.graph.name!r}, the problem of graph {problem.graph.name!r}"
        )
    if schedule.ii != problem.interval:
        raise ProblemError(f"the schedule has II {schedule.ii}, the problem II {problem.interval}")
    return problem.violations(problem.schedule(schedule.start))


def objective_if_legal(problem: Problem, schedule: Schedule) -> int | None:
    """Return the exact objective of a legal schedule of the problem, None of one that `verify` would complain about."""
    return problem.objective(schedule) if problem.is_legal(schedule) else None
