"""Mixed-integer linear programming with HiGHS on all formulations: an opinion independent of CP-SAT's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gaus_lab.checks import integer
from gaus_lab.errors import SolverError
from gaus_lab.problem import Problem
from gaus_lab.run import Run
from gaus_lab.solvers import milp_model as build
from gaus_lab.solvers.background import in_background, load_package
from gaus_lab.solvers.exact_start import as_warm_start, check_sums, no_schedule, prepare
from gaus_lab.solvers.time_windows import TimeWindows

#: Largest sum in a model. The solver computes in double precision, with relative tolerances of 1e-6.
MAX_SUM = 10**9
#: Most binaries; the linear program of more of them has no first solution within minutes.
MAX_BINARIES = 1_000_000
#: Objectives are integers, so a smaller difference to the bound is none.
_ABSOLUTE_GAP = 0.9


@dataclass(frozen=True)
class Milp:
    """Searches with the branch-and-cut solver HiGHS until a schedule is proven best, or a stop criterion is reached.

    Formulations A, B, C and R, with limits. Exact up to tolerances of double precision: its schedules are rounded and
    verified, its bound is lowered by the tolerance before it is rounded up. A time limit proves nothing. Exponential
    time. Memory follows the binaries: operations times mobility, or times II for C. With one thread equal seeds give
    equal schedules, unless a time limit ends the run. A step of the run is a node of the search tree.

    Parameters
    ----------
    threads : int >= 1
    nodes : int >= 1
        Nodes of the search where the run has neither a time limit nor a limit of steps.
    warm_start : Schedule or starts in the graph's order, optional
        Where the search begins, if it is legal and better than ASAP, ALAP and a list schedule.

    Raises
    ------
    SolverError
        highspy is not installed; a setting out of range; sums beyond 10**9; too many binaries.

    References
    ----------
    Huangfu, Hall, "Parallelizing the dual revised simplex method", Mathematical Programming Computation 10, 2018.
    Artigues, "On the strength of time-indexed formulations for the RCPSP", Operations Research Letters 45(2), 2017.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> problem = gl.FootprintProblem(gl.load("hal"), horizon=7)
    >>> result = gl.solve(problem, Milp())
    >>> result.objective, result.status
    (2, <Status.OPTIMAL: 'optimal'>)
    """

    threads: int = 1
    nodes: int = 10_000
    warm_start: Any = None

    name: ClassVar[str] = "milp"
    formulations: ClassVar[frozenset[str]] = frozenset("ABCR")

    def __post_init__(self) -> None:
        integer(self.threads, "threads", 1, SolverError)
        integer(self.nodes, "nodes", 1, SolverError)
        object.__setattr__(self, "warm_start", as_warm_start(self.warm_start))

    def run(self, problem: Problem, run: Run) -> None:
        """Offer every schedule that the solver finds, and its bound."""
        windows = prepare(problem, run, self.warm_start)  # there is a schedule from now on
        highspy = load_package("highspy", "MILP")
        check_sums(windows, MAX_SUM, "MILP")
        _check_size(windows)
        if run.stopped or not problem.graph.n_ops:
            return
        model = build.MilpModel(windows)
        for part in (build.add_variables, build.add_constraints, build.add_objective):
            part(model)
            if run.stopped:
                return
        solver = _loaded(highspy, model)
        self._set_options(solver, run)
        if run.best_start is not None:
            columns, values = build.solution(model, run.best_start)
            solver.setSolution(len(columns), columns.astype(np.int32), values)
        self._search(highspy, solver, model, run)

    def _set_options(self, solver: Any, run: Run) -> None:
        options: dict[str, Any] = {
            "threads": self.threads,
            "random_seed": run.seed % (2**31 - 1),
            "mip_rel_gap": 0.0,
            "mip_abs_gap": _ABSOLUTE_GAP,
        }
        if run.max_seconds is not None:
            options["time_limit"] = max(run.max_seconds - run.elapsed, 0.01)
        if run.max_steps is not None:
            options["mip_max_nodes"] = max(run.max_steps - run.steps, 1)
        elif not run.stop:
            options["mip_max_nodes"] = int(self.nodes)
        for key, value in options.items():
            solver.setOptionValue(key, value)

    def _search(self, highspy: Any, solver: Any, model: build.MilpModel, run: Run) -> None:
        over: list[bool] = []

        def offer(event: Any) -> None:
            run.offer(build.read_back(model, np.asarray(event.data_out.mip_solution)))

        def look(event: Any) -> None:
            event.interrupt(bool(over))

        solver.cbMipSolution += offer
        for callback in (solver.cbMipInterrupt, solver.cbSimplexInterrupt, solver.cbIpmInterrupt):
            callback += look

        def work() -> None:
            try:
                solver.run()
            finally:
                solver.resetGlobalScheduler(True)  # its threads must not outlive the interpreter

        try:
            in_background(work, lambda: over.append(True), run)
        finally:
            run.step(max(int(solver.getInfo().mip_node_count), 0))
        self._conclude(highspy, solver, model, run)

    def _conclude(self, highspy: Any, solver: Any, model: build.MilpModel, run: Run) -> None:
        """Take over the last solution, the bound, and a proof that there is none."""
        info, answer = solver.getInfo(), solver.getModelStatus()
        status = highspy.HighsModelStatus
        values = np.asarray(solver.getSolution().col_value)
        if len(values) == model.rows.n_columns and info.primal_solution_status == 2:
            run.offer(build.read_back(model, values))
        if answer in (status.kInfeasible, status.kUnboundedOrInfeasible):
            if run.best_objective is not None:
                raise SolverError("HiGHS calls a problem infeasible that has a verified schedule")
            run.prove_infeasible(no_schedule(model.windows, "HiGHS"))
        elif math.isfinite(info.mip_dual_bound):
            bound = info.mip_dual_bound
            run.prove_bound(math.ceil(bound - 1e-6 * max(abs(bound), 1.0)))


def _check_size(windows: TimeWindows) -> None:
    problem = windows.problem
    binaries = (
        int(windows.moves.sum()) if problem.interval is None else problem.graph.n_ops * (problem.interval - 1)
    )
    if binaries > MAX_BINARIES:
        raise SolverError(
            f"MILP would need {binaries} binaries for {problem.graph.n_ops} operations, at most {MAX_BINARIES} are "
            "allowed; use another solver, a shorter horizon or a coarser unit of time"
        )


def _loaded(highspy: Any, model: build.MilpModel) -> Any:
    """Return a silent solver with the model."""

    class Quiet(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    rows = model.rows
    matrix, low, high = rows.matrix()
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = rows.n_columns, rows.n_rows
    program.col_cost_, program.offset_ = rows.costs(), rows.offset
    program.col_lower_, program.col_upper_, integer = rows.bounds()
    program.row_lower_, program.row_upper_ = low, high
    kinds = highspy.HighsVarType
    program.integrality_ = [kinds.kInteger if i else kinds.kContinuous for i in integer.tolist()]
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = matrix.indptr
    program.a_matrix_.index_ = matrix.indices
    program.a_matrix_.value_ = matrix.data
    solver = Quiet()
    solver.passModel(program)
    return solver
