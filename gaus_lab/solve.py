"""`solve`: the one way from a problem and a solver to a verified result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.checks import integer, short
from gaus_lab.errors import SolverError
from gaus_lab.problem import Problem
from gaus_lab.result import Result, Status
from gaus_lab.run import Run, Solver, StopCriterion, as_criteria
from gaus_lab.verify import verify


def solve(
    problem: Problem,
    solver: Solver | None = None,
    *,
    seed: int = 0,
    stop: StopCriterion | Iterable[StopCriterion] | None = None,
    watch: Callable[[Run], None] | None = None,
    bound: bool = True,
) -> Result:
    """Return the best verified schedule that a solver finds for a problem.

    Parameters
    ----------
    problem : Problem
    solver : Solver, default ``GauS()``
    seed : int >= 0
        Equal seeds give equal schedules on one device, unless a time limit ends the run.
    stop : stop criterion or several
        `MaxSeconds`, `MaxSteps`, `NoImprovement`; the first that is reached ends the run.
    watch : callable, optional
        Called with the `Run` after every step of the solver.
    bound : bool
        Whether to compute the problem's own lower bound.

    Returns
    -------
    Result
        With status ``infeasible`` and a reason where no schedule can exist, found before any optimisation if a
        cheap test shows it. An interrupt (Ctrl-C) ends the search; the best schedule so far is returned.

    Raises
    ------
    SolverError
        The solver does not support the formulation, or a stop criterion is none.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> problem = gl.ResourceProblem(gl.load("hal"), horizon=4)
    >>> gl.solve(problem, gl.ListScheduling()).status
    <Status.FEASIBLE: 'feasible'>
    """
    solver = _default_solver() if solver is None else solver
    _check_support(problem, solver)
    run = Run(
        _judge(problem), seed=integer(seed, "seed", 0, SolverError), stop=as_criteria(stop), watch=watch
    )
    reason = problem.infeasibility()
    if reason:
        run.prove_infeasible(reason)
    else:
        reason = _attempt(problem, solver, run)
    seconds = run.elapsed
    if bound and run.infeasible is None:
        with suppress(KeyboardInterrupt):  # an impatient user keeps the schedule and does without the bound
            run.prove_bound(problem.bound())
    return _result(problem, solver, run, seconds, reason)


def _default_solver() -> Solver:
    from gaus_lab.solvers import solver_class

    return solver_class("gaus")()


def _check_support(problem: Problem, solver: Solver) -> None:
    if isinstance(solver, type) or not isinstance(solver, Solver):
        raise SolverError(f"solver must be a solver such as GauS(), got {short(solver)}")
    if problem.formulation not in solver.formulations:
        raise SolverError(
            f"solver {solver.name} does not support formulation {problem.formulation} "
            f"({type(problem).__name__}); it supports {', '.join(sorted(solver.formulations))}"
        )


def _judge(problem: Problem) -> Callable[[NDArray[np.int64]], int | None]:
    """Return the function through which every schedule of a run must pass."""

    def judge(start: NDArray[np.int64]) -> int | None:
        schedule = problem.schedule(start)
        return None if verify(problem, schedule) else problem.objective(schedule)

    return judge


def _attempt(problem: Problem, solver: Solver, run: Run) -> str:
    """Run the solver; return why it found nothing, "" if it found a schedule."""
    try:
        solver.run(problem, run)
    except KeyboardInterrupt:
        if run.best_start is None:
            return "interrupted before the first schedule was found"
    if run.best_start is not None:
        return ""
    return run.infeasible or f"{solver.name} found no legal schedule; try another solver, seed or more time"


def _result(problem: Problem, solver: Solver, run: Run, seconds: float, reason: str) -> Result:
    found = run.best_start is not None
    schedule = problem.schedule(run.best_start) if found else None
    if run.infeasible is not None and not found:
        status = Status.INFEASIBLE
    elif not found:
        status = Status.UNKNOWN
    else:
        status = Status.OPTIMAL if run.proven else Status.FEASIBLE
    return Result(
        problem=problem,
        schedule=schedule,
        status=status,
        objective=run.best_objective,
        terms=problem.terms(schedule) if schedule is not None else {},
        bound=run.bound,
        solver=solver.name,
        settings=_settings(solver),
        seed=run.seed,
        device=run.device,
        seconds=seconds,
        history=tuple(run.history),
        reason=reason,
    )


def _settings(solver: Solver) -> dict[str, Any]:
    return dataclasses.asdict(solver) if dataclasses.is_dataclass(solver) else {}
