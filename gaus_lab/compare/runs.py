"""The comparison itself: jobs, in turn or at once, to records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass
from typing import Any

from gaus_lab.checks import short
from gaus_lab.compare.processes import FreshProcesses, ProcessFailure, own_peak_memory
from gaus_lab.compare.records import Record, Records
from gaus_lab.errors import ProblemError, SolverError
from gaus_lab.problem import Problem
from gaus_lab.run import Solver, StopCriterion, as_criteria
from gaus_lab.solve import solve


def compare(
    problems: Iterable[Problem],
    solvers: Iterable[Solver],
    seeds: Iterable[int] = range(1),
    *,
    stop: StopCriterion | Iterable[StopCriterion] | None = None,
    executor: Executor | None = None,
    watch: Callable[[Records], None] | None = None,
) -> Records:
    """Return a record for each problem, solver and seed; one that fails has a reason in place of an objective.

    Parameters
    ----------
    problems : iterable of Problem
    solvers : iterable of solvers
    seeds : iterable of int >= 0
    stop : stop criterion or several
        For each run, as for `solve`.
    executor : concurrent.futures.Executor, optional
        Runs the jobs; without one they run in turn in this process. `FreshProcesses` measures memory as well.
    watch : callable, optional
        Called after each run with the records so far.

    Returns
    -------
    Records
        In the order of problems, solvers, seeds. After an interrupt (Ctrl-C) those of the runs that were finished.

    Raises
    ------
    ProblemError, SolverError
        A problem, a solver or a stop criterion is none.

    Notes
    -----
    A problem's lower bound is computed once, and goes into all its rows.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> problem = gl.ResourceProblem(gl.load("hal"), horizon=9)
    >>> gl.compare([problem], [gl.Asap(), gl.ListScheduling()])
    graph  formulation  horizon  solver  seed  status    objective  bound     gap
    hal    A                  9  asap       0  feasible          5      3  40.0 %
    hal    A                  9  list       0  optimal           3      3   0.0 %
    """
    own_process = isinstance(executor, FreshProcesses)
    jobs = _jobs(list(problems), list(solvers), list(seeds), as_criteria(stop), own_process)
    rows: dict[int, Record] = {}
    try:
        for place, row in _in_turn(jobs) if executor is None else _at_once(jobs, executor):
            rows[place] = row
            if watch is not None:
                watch(_in_order(rows))
    except KeyboardInterrupt:
        pass  # what is finished is worth having
    return _in_order(rows)


@dataclass(frozen=True)
class _Job:
    problem: Problem
    solver: Solver
    seed: int
    stop: tuple[StopCriterion, ...]
    own_process: bool

    def failed(self, status: str, reason: str) -> Record:
        return Record.failed(self.problem, self.solver.name, self.seed, status, reason)


def _jobs(
    problems: list[Problem],
    solvers: list[Solver],
    seeds: list[int],
    stop: tuple[StopCriterion, ...],
    own_process: bool,
) -> list[_Job]:
    for problem in problems:
        if not isinstance(problem, Problem):
            raise ProblemError(
                f"problems must be problems such as ResourceProblem(graph), got {short(problem)}"
            )
    for solver in solvers:
        if isinstance(solver, type) or not isinstance(solver, Solver):
            raise SolverError(f"solvers must be solvers such as GauS(), got {short(solver)}")
    return [
        _Job(problem, solver, seed, stop, own_process)
        for problem in problems
        for solver in solvers
        for seed in seeds
    ]


def _in_order(rows: dict[int, Record]) -> Records:
    return Records(tuple(rows[place] for place in sorted(rows)))


def _in_turn(jobs: list[_Job]) -> Iterator[tuple[int, Record]]:
    problem, bound = None, None
    for place, job in enumerate(jobs):
        if job.problem is not problem:
            problem, bound = job.problem, _bound_or_none(job.problem)
        row, interrupted = _attempt(job)
        yield place, row.bounded(bound)
        if interrupted:
            return


def _at_once(jobs: list[_Job], executor: Executor) -> Iterator[tuple[int, Record]]:
    bounds = {id(job.problem): job.problem for job in jobs}
    bound_of = {key: executor.submit(_bound_or_none, problem) for key, problem in bounds.items()}
    place_of = {executor.submit(_attempt, job): place for place, job in enumerate(jobs)}
    try:
        for future in as_completed(place_of):
            job = jobs[place_of[future]]
            yield place_of[future], _row(future, job).bounded(_answer(bound_of[id(job.problem)]))
    finally:
        waiting: list[Future[Any]] = [*place_of, *bound_of.values()]
        for left in waiting:
            left.cancel()


def _row(future: Future[tuple[Record, bool]], job: _Job) -> Record:
    try:
        return future.result()[0]
    except ProcessFailure as error:
        return job.failed(error.status, str(error))
    except Exception as error:  # such as a broken pool
        return job.failed("failed", _said(error))


def _answer(future: Future[int | None]) -> int | None:
    try:
        return future.result()
    except Exception:  # no bound, no gap
        return None


def _attempt(job: _Job) -> tuple[Record, bool]:
    """Return the row of a job, and whether an interrupt ended it."""
    try:
        result = solve(job.problem, job.solver, seed=job.seed, stop=job.stop, bound=False)
    except MemoryError:
        return job.failed("out of memory", "the solver could not get the memory that it asked for"), False
    except Exception as error:  # whatever a solver does, the other runs go on
        return job.failed("failed", _said(error)), False
    return Record.of(result, own_peak_memory() if job.own_process else None), result.interrupted


def _bound_or_none(problem: Problem) -> int | None:
    """Return the problem's own bound; None where there is no schedule to bound, or none could be computed."""
    try:
        return None if problem.infeasibility() else problem.bound()
    except Exception:
        return None


def _said(error: Exception) -> str:
    text = str(error)
    return text if isinstance(error, (ProblemError, SolverError)) else f"{type(error).__name__}: {text}"
