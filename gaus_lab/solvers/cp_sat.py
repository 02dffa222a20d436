"""CP-SAT: the constraint solver of OR-Tools on all formulations, with its bound and its proofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gaus_lab.checks import integer, number
from gaus_lab.errors import SolverError
from gaus_lab.problem import Problem
from gaus_lab.run import Run
from gaus_lab.solvers.background import in_background, load_package
from gaus_lab.solvers.exact_start import as_warm_start, check_sums, no_schedule, prepare

if TYPE_CHECKING:
    from gaus_lab.solvers.cp_sat_terms import CpModel

#: Largest sum in a model: the solver reports its bound in double precision.
MAX_SUM = 2**53
#: Most literals of a loop's slots; a model of them takes a few gigabytes.
MAX_SLOTS = 4_000_000
#: A step of a run, in units of the solver's deterministic time (about a second each on a fast machine).
STEP = 0.01


@dataclass(frozen=True)
class CpSat:
    """Searches with CP-SAT until the best schedule is proven optimal, or a stop criterion is reached.

    Formulations A, B, C and R, with limits. Exact: without a stop criterion's interruption its answer is optimal, or
    the problem is proven infeasible; its lower bound counts for the result in any case. A time limit proves nothing.
    Exponential time. Memory follows order literals (operations times mobility, or times II for C), and operations
    plus edges where they are too many (see `cp_sat_model`). With one worker equal seeds give equal schedules, unless
    a time limit ends the run; with several the order of events decides. A step of the run is a hundredth of a unit
    of the solver's deterministic time.

    Parameters
    ----------
    workers : int >= 1
        Threads; CP-SAT runs a different strategy on each.
    effort : float > 0
        Deterministic time of the search where the run has neither a time limit nor a limit of steps.
    warm_start : Schedule or starts in the graph's order, optional
        Hinted to the solver, beside ASAP, ALAP and a list schedule; need not be legal.

    Raises
    ------
    SolverError
        OR-Tools is not installed; a setting out of range; sums beyond 2**53; too many slots.

    References
    ----------
    Perron, Furnon, OR-Tools, https://developers.google.com/optimization.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> problem = gl.LatencyProblem(gl.load("hal"), limits={"MUL": 2, "ALU": 1})
    >>> result = gl.solve(problem, CpSat())
    >>> result.objective, result.status
    (8, <Status.OPTIMAL: 'optimal'>)
    """

    workers: int = 1
    effort: float = 60.0
    warm_start: Any = None

    name: ClassVar[str] = "cpsat"
    formulations: ClassVar[frozenset[str]] = frozenset("ABCR")

    def __post_init__(self) -> None:
        integer(self.workers, "workers", 1, SolverError)
        if number(self.effort, "effort", 0, SolverError) == 0:
            raise SolverError("effort must be > 0, got 0")
        object.__setattr__(self, "warm_start", as_warm_start(self.warm_start))

    def run(self, problem: Problem, run: Run) -> None:
        """Offer every schedule that the solver finds, and its bound."""
        windows = prepare(problem, run, self.warm_start)  # there is a schedule from now on
        cp_model = load_package("ortools.sat.python.cp_model", "CP-SAT")
        check_sums(windows, MAX_SUM, "CP-SAT")
        if run.stopped:
            return
        from gaus_lab.solvers import cp_sat_model as build
        from gaus_lab.solvers.cp_sat_terms import CpModel

        slots = problem.graph.n_ops * (problem.interval or 0)
        if slots > MAX_SLOTS:
            raise SolverError(
                f"CP-SAT would need {slots} literals for {problem.graph.n_ops} operations at II {problem.interval}, "
                f"at most {MAX_SLOTS} are allowed; use another solver or a coarser unit of time"
            )
        model = CpModel(windows)
        for part in (build.add_variables, build.add_constraints, build.add_objective):
            part(model)
            if run.stopped:
                return
        if run.best_start is not None:
            build.add_hint(model, run.best_start)
        self._search(cp_model, model, run)

    def _search(self, cp_model: Any, model: CpModel, run: Run) -> None:
        from gaus_lab.solvers.cp_sat_model import read_back

        class Offer(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
            def on_solution_callback(self) -> None:
                run.offer(read_back(model, self.value))

        solver = self._solver(cp_model, run)
        solver.best_bound_callback = lambda bound: run.prove_bound(_integer_above(bound))
        answer: list[Any] = []
        try:
            in_background(
                lambda: answer.append(solver.solve(model.cp, Offer())), lambda: solver.stop_search(), run
            )
        finally:
            run.step(round(solver.deterministic_time / STEP) if answer else 0)
        self._conclude(cp_model, answer[0], solver, model, run)

    def _solver(self, cp_model: Any, run: Run) -> Any:
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        parameters.num_workers = self.workers
        parameters.random_seed = run.seed % (2**31 - 1)
        parameters.catch_sigint_signal = False  # Python's handler decides
        if run.max_seconds is not None:
            parameters.max_time_in_seconds = max(run.max_seconds - run.elapsed, 0.01)
        if run.max_steps is not None:
            parameters.max_deterministic_time = max(run.max_steps - run.steps, 1) * STEP
        elif not run.stop:
            parameters.max_deterministic_time = float(self.effort)
        return solver

    def _conclude(self, cp_model: Any, answer: Any, solver: Any, model: CpModel, run: Run) -> None:
        """Take over what the solver proved."""
        if answer == cp_model.MODEL_INVALID:
            raise SolverError(f"CP-SAT refuses the model: {model.cp.validate()[:200]}")
        if answer == cp_model.INFEASIBLE:
            if run.best_objective is not None:
                raise SolverError("CP-SAT calls a problem infeasible that has a verified schedule")
            run.prove_infeasible(no_schedule(model.windows, "CP-SAT"))
        elif answer in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            run.prove_bound(_integer_above(solver.best_objective_bound))


def _integer_above(bound: float) -> int:
    """Return the integer bound that a bound in double precision stands for."""
    return int(np.ceil(bound - 1e-6))
