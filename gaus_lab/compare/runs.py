"""The comparison itself: jobs, in turn or at once, to records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from os import PathLike
from queue import SimpleQueue
from typing import Any, Protocol

from gaus_lab.checks import short
from gaus_lab.compare.processes import FreshProcesses, ProcessFailure, own_peak_memory
from gaus_lab.compare.records import Record, Records
from gaus_lab.compare.store import RecordFile, key_of, settings_of
from gaus_lab.errors import ProblemError, SolverError
from gaus_lab.problem import Problem
from gaus_lab.result import graph_identity
from gaus_lab.run import Solver, StopCriterion, as_criteria
from gaus_lab.solve import solve


class Submits(Protocol):
    """What `compare` needs of an executor: `submit`, which returns futures.

    A future has ``result``, ``cancel`` and ``add_done_callback``, as those of `concurrent.futures` do.
    """

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Any:
        """Return the future of a call."""


def compare(
    problems: Iterable[Problem],
    solvers: Iterable[Solver],
    seeds: Iterable[int] = range(1),
    *,
    stop: StopCriterion | Iterable[StopCriterion] | None = None,
    executor: Submits | None = None,
    path: str | PathLike[str] | None = None,
    resume: str | PathLike[str] | None = None,
    watch: Callable[[Records], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Records:
    """Return a record for each problem, solver and seed; one that fails has a reason in place of an objective.

    Parameters
    ----------
    problems : iterable of Problem
    solvers : iterable of solvers
    seeds : iterable of int >= 0
    stop : stop criterion or several
        For each run, as for `solve`.
    executor : anything with ``submit`` that returns futures, optional
        Runs the jobs; without one they run in turn in this process. See the notes.
    path : path, optional
        CSV file of all records, up to date after each run.
    resume : path, optional
        File of JSON lines to which each finished run is added. Runs that stand there already are not made again:
        the same call, after a crash or with more solvers, does what is left. A run is the same if the graph's hash,
        the problem's settings, the solver's name and settings, the seed and the stop criteria are. A run that
        failed or hung counts as finished, one that was interrupted or whose worker was lost does not.
    watch : callable, optional
        Called with the records so far after each run, and at the begin if some are known already.
    progress : callable, optional
        Called with the number of known records and of all, when `watch` is.

    Returns
    -------
    Records
        In the order of problems, solvers, seeds. After an interrupt (Ctrl-C) those of the runs that were finished.

    Raises
    ------
    ProblemError, SolverError
        A problem, a solver, a stop criterion or the executor is none.
    GausLabError
        `resume` is a file of something else (file and line are named), or a file cannot be read or written.

    Notes
    -----
    A problem's lower bound is computed once, and goes into all its rows.

    Of the executors, `FreshProcesses` gives each run a process of its own, measures its memory and survives its
    crash. Those of `concurrent.futures` share threads or processes between runs, and time is then shared as well.
    Others run elsewhere, where the package must be installed::

        from dask.distributed import Client                      # pip install distributed

        with Client("scheduler:8786") as client:
            gl.compare(problems, solvers, executor=client.get_executor(), resume="records.jsonl")

        from mpi4py.futures import MPIPoolExecutor               # mpiexec -n 9 python -m mpi4py.futures script.py

        with MPIPoolExecutor() as executor:
            gl.compare(problems, solvers, executor=executor, resume="records.jsonl")

    Examples
    --------
    >>> import gaus_lab as gl
    >>> problem = gl.ResourceProblem(gl.load("hal"), horizon=9)
    >>> gl.compare([problem], [gl.Asap(), gl.ListScheduling()])
    graph  formulation  horizon  solver  seed  status    objective  bound     gap
    hal    A                  9  asap       0  feasible          5      3  40.0 %
    hal    A                  9  list       0  optimal           3      3   0.0 %
    """
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise SolverError(
            f"executor must have a method submit, as ThreadPoolExecutor has, got {short(executor)}"
        )
    own_process = isinstance(executor, FreshProcesses)
    jobs = _jobs(list(problems), list(solvers), list(seeds), as_criteria(stop), own_process)

    def tell(rows: dict[int, Record]) -> None:
        records = _in_order(rows)
        if path is not None:
            records.to_csv(path)
        if watch is not None:
            watch(records)
        if progress is not None:
            progress(len(records), len(jobs))

    with nullcontext() if resume is None else RecordFile.open(resume) as store:
        return _in_order(_rows(jobs, executor, store, tell))


def _rows(
    jobs: list[_Job],
    executor: Submits | None,
    store: RecordFile | None,
    tell: Callable[[dict[int, Record]], None],
) -> dict[int, Record]:
    """Return the rows by the places of their jobs: those of the file, and those of the runs that are made."""
    keys = {} if store is None else _keys(jobs)
    rows = {} if store is None else {p: store.known[key] for p, key in keys.items() if key in store.known}
    left = {place: job for place, job in enumerate(jobs) if place not in rows}
    try:
        if rows:
            tell(rows)
        for place, row, finished in _in_turn(left) if executor is None else _at_once(left, executor):
            if store is not None and finished:
                store.append(keys[place], row)
            rows[place] = row
            tell(rows)
    except KeyboardInterrupt:
        pass  # what is finished is worth having
    return rows


@dataclass(frozen=True)
class _Job:
    problem: Problem
    solver: Solver
    seed: int
    stop: tuple[StopCriterion, ...]
    own_process: bool

    def failed(self, status: str, reason: str) -> Record:
        settings = settings_of(self.solver)
        return Record.failed(self.problem, self.solver.name, self.seed, status, reason, settings)


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


def _keys(jobs: list[_Job]) -> dict[int, str]:
    """Return the key of each job by its place; a graph is hashed once."""
    graphs = {id(job.problem.graph): job.problem.graph for job in jobs}
    sha256 = {number: graph_identity(graph)["sha256"] for number, graph in graphs.items()}
    return {
        place: key_of(job.problem, job.solver, job.seed, job.stop, sha256[id(job.problem.graph)])
        for place, job in enumerate(jobs)
    }


def _in_order(rows: dict[int, Record]) -> Records:
    return Records(tuple(rows[place] for place in sorted(rows)))


def _in_turn(jobs: dict[int, _Job]) -> Iterator[tuple[int, Record, bool]]:
    """Yield place, row, and whether the run came to its own end."""
    problem, bound = None, None
    for place, job in jobs.items():
        if job.problem is not problem:
            problem, bound = job.problem, _bound_or_none(job.problem)
        row, interrupted = _attempt(job)
        yield place, row.bounded(bound), not interrupted
        if interrupted:
            return


def _at_once(jobs: dict[int, _Job], executor: Submits) -> Iterator[tuple[int, Record, bool]]:
    """Yield what `_in_turn` does, in the order in which the runs end."""
    problems = {id(job.problem): job.problem for job in jobs.values()}
    futures: list[Any] = []
    ended: SimpleQueue[tuple[int, Any]] = (
        SimpleQueue()
    )  # works with futures of any kind, `as_completed` does not
    try:
        bounds = {key: _submit(executor, _bound_or_none, problem) for key, problem in problems.items()}
        futures += bounds.values()
        for place, job in jobs.items():
            futures.append(_submit(executor, _attempt, job))
            futures[-1].add_done_callback(partial(_put, ended, place))
        for _ in jobs:
            place, future = ended.get()
            job = jobs[place]
            row, finished = _row(future, job)
            yield place, row.bounded(_answer(bounds[id(job.problem)])), finished
    finally:
        for left in futures:
            left.cancel()


def _put(ended: SimpleQueue[tuple[int, Any]], place: int, future: Any) -> None:
    ended.put((place, future))


def _submit(executor: Submits, function: Callable[[Any], Any], argument: object) -> Any:
    """Return a future; a pool that breaks meanwhile costs its runs, not the comparison."""
    try:
        return executor.submit(function, argument)
    except BrokenExecutor as error:
        broken: Future[Any] = Future()
        broken.set_exception(error)
        return broken


def _row(future: Any, job: _Job) -> tuple[Record, bool]:
    """Return the row of a job whose future is done, and whether the run came to its own end."""
    try:
        row, interrupted = future.result()
    except ProcessFailure as error:
        return job.failed(error.status, str(error)), True
    except Exception as error:  # such as a broken pool
        return job.failed("failed", _said(error)), False
    return row, not interrupted


def _answer(future: Any) -> int | None:
    try:
        bound: int | None = future.result()
    except Exception:  # no bound, no gap
        return None
    return bound


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
