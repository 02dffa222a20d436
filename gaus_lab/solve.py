"""`solve`: the one way from a problem and a solver to a verified result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.checks import integer, short
from gaus_lab.errors import SolverError
from gaus_lab.problem import Problem
from gaus_lab.result import Result, Status
from gaus_lab.run import Run, Solver, StopCriterion, as_criteria
from gaus_lab.verify import objective_if_legal

#: Up to this many edges the bound takes no time worth mentioning; known before the search, it ends the search
#: as soon as a schedule meets it.
MAX_EDGES_FOR_EARLY_BOUND = 5_000


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
        cheap test shows it. An interrupt (Ctrl-C) ends the search; the best schedule so far is returned, without
        the problem's bound. A second interrupt raises.

    Raises
    ------
    SolverError
        The solver does not support the formulation, or a stop criterion is none.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> problem = gl.ResourceProblem(gl.load("hal"), horizon=9)
    >>> gl.solve(problem, gl.ListScheduling()).status
    <Status.OPTIMAL: 'optimal'>
    """
    solver = _default_solver() if solver is None else solver
    _check_support(problem, solver)
    run = Run(
        _judge(problem), seed=integer(seed, "seed", 0, SolverError), stop=as_criteria(stop), watch=watch
    )
    interrupted = _search(problem, solver, run, bound)
    try:
        return _result(problem, solver, run, interrupted)
    except KeyboardInterrupt:
        if interrupted:
            raise
        return _result(problem, solver, run, True)  # the first interrupt never costs the schedule


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
        return objective_if_legal(problem, schedule)

    return judge


def _search(problem: Problem, solver: Solver, run: Run, bound: bool) -> bool:
    """Run the solver, then compute the problem's bound; return whether an interrupt cut that short."""
    try:
        reason = problem.infeasibility()
        if reason:
            run.prove_infeasible(reason)
            run.finish()
            return False
        early_bound = bound and problem.graph.n_edges <= MAX_EDGES_FOR_EARLY_BOUND
        if early_bound:
            run.prove_bound(problem.bound())
        solver.run(problem, run)
        run.finish()
        if bound and not early_bound and run.infeasible is None:
            run.prove_bound(problem.bound())
    except KeyboardInterrupt:
        run.finish()
        return True
    return False


def _reason(solver: Solver, run: Run, interrupted: bool) -> str:
    """Return why there is no schedule, "" if there is one."""
    if run.best_start is not None:
        return ""
    if interrupted and run.infeasible is None:
        return "interrupted before the first schedule was found"
    return run.infeasible or f"{solver.name} found no legal schedule; try another solver, seed or more time"


def _result(problem: Problem, solver: Solver, run: Run, interrupted: bool) -> Result:
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
        seconds=run.elapsed,
        history=tuple(run.history),
        reason=_reason(solver, run, interrupted),
        steps=run.steps,
        interrupted=interrupted,
    )


def _settings(solver: Solver) -> dict[str, Any]:
    return dataclasses.asdict(solver) if dataclasses.is_dataclass(solver) else {}
