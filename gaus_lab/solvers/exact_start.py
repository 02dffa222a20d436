"""What the exact solvers share besides windows: a warm start as a setting, and sizes that they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.checks import short
from gaus_lab.errors import SolverError
from gaus_lab.problem import LatencyProblem, Problem, ResourceProblem
from gaus_lab.run import Run
from gaus_lab.schedule import Schedule
from gaus_lab.solvers.first_schedules import offer_first_schedules
from gaus_lab.solvers.time_windows import TimeWindows

IntArray = NDArray[np.int64]


def as_warm_start(value: Any) -> tuple[int, ...] | None:
    """Return a setting that is a schedule, or starts in the graph's order, as a tuple; None stays None.

    Raises
    ------
    SolverError
        It is neither.
    """
    if value is None:
        return None
    start = np.asarray(value.start if isinstance(value, Schedule) else value)
    if start.ndim != 1 or (start.dtype.kind not in "iu" and start.size):
        raise SolverError(
            f"warm_start must be a Schedule, or one integer start per operation, got {short(value)}"
        )
    return tuple(start.tolist())


def prepare(problem: Problem, run: Run, warm_start: tuple[int, ...] | None) -> TimeWindows:
    """Offer the first schedules and the warm start, and return the windows that are left to search.

    Raises
    ------
    SolverError
        The warm start has another number of operations.
    """
    n_ops = problem.graph.n_ops
    if warm_start is not None:
        if len(warm_start) != n_ops:
            raise SolverError(
                f"warm_start has {len(warm_start)} starts, graph {problem.graph.name!r} has {n_ops} operations"
            )
        run.offer(np.array(warm_start, dtype=np.int64))
    offer_first_schedules(problem, run)
    known = run.best_objective if isinstance(problem, LatencyProblem) else None
    return TimeWindows.of(problem, known)


def check_sums(windows: TimeWindows, most: int, solver: str) -> None:
    """Refuse a problem whose sums the solver's arithmetic could not hold.

    Raises
    ------
    SolverError
        Names the sum and its figure.
    """
    problem, graph = windows.problem, windows.problem.graph
    sums = {
        "the horizon times the II": windows.horizon * (problem.interval or 1),
        "the sum of the operations' weights": int(graph.weight.astype(object).sum()),
        "the bits of all values, all of them live": int(graph.bits.astype(object).sum())
        * (windows.horizon // (problem.interval or windows.horizon or 1) + 1),
    }
    if isinstance(problem, ResourceProblem):
        prices = dict(problem.resource_weights)  # type: ignore[arg-type]
        usage = sum(p * int(graph.weight[graph.ops_on(r)].astype(object).sum()) for r, p in prices.items())
        crossed = int(graph.cost.astype(object).sum()) * windows.horizon
        assert problem.communication_weight is not None
        sums["the largest cost of a schedule"] = usage + problem.communication_weight * crossed
    for what, amount in sums.items():
        if amount > most:
            raise SolverError(
                f"{solver} cannot take graph {graph.name!r}: {what} may reach {amount}, it computes up to {most}; "
                "use smaller weights or a coarser unit of time"
            )


def no_schedule(windows: TimeWindows, solver: str) -> str:
    """Return the reason that an exhausted search gives."""
    interval = windows.problem.interval
    ii = "" if interval is None else f" and II {interval}"
    return (
        f"{solver} proved by search that no schedule meets all constraints with horizon {windows.horizon}{ii}"
    )
