"""CP-SAT and MILP: proofs, warm starts, interrupts, refusals. That they agree with brute force: `test_oracle`."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import gaus_lab as gl
from gaus_lab.datasets import random_dag
from gaus_lab.problem import Problem
from gaus_lab.run import Solver
from gaus_lab.solvers import cp_sat_model
from gaus_lab.solvers.time_windows import TimeWindows

pytestmark = pytest.mark.fast

EXACT = pytest.mark.parametrize("solver", [gl.CpSat(), gl.Milp()], ids=["cpsat", "milp"])


def problems() -> dict[str, Problem]:
    """Return a problem of each formulation in which neither ASAP nor ALAP is best."""
    graph, loop = gl.load("ewf"), gl.load("iir2")
    return {
        "A": gl.ResourceProblem(graph, horizon=20, weights="balanced"),
        "B": gl.FootprintProblem(graph, horizon=18),
        "C": gl.ModuloProblem(loop, limits={"MUL": 2, "ALU": 1}),
        "R": gl.LatencyProblem(graph, limits={"MUL": 1, "ALU": 2}),
    }


@pytest.mark.parametrize("letter", "ABCR")
def test_both_prove_the_same_optimum(letter: str) -> None:
    problem = problems()[letter]
    first, second = gl.solve(problem, gl.CpSat()), gl.solve(problem, gl.Milp())
    assert first.status is second.status is gl.Status.OPTIMAL
    assert first.objective == second.objective
    assert problem.bound() <= (first.bound or 0)


@EXACT
def test_a_value_that_would_die_before_its_birth_counts_nothing(solver: Solver) -> None:
    ops = [{"name": "slow", "latency": 4, "bits": 5}, {"name": "other", "bits": 5}, "use", "end"]
    edges = [{"src": "slow", "dst": "use", "latency": 0}, ("other", "end")]
    problem = gl.FootprintProblem(gl.Graph.build(ops, edges), horizon=4)
    result = gl.solve(problem, solver)
    assert (result.objective, result.status) == (5, gl.Status.OPTIMAL)


@EXACT
def test_a_loop_value_lives_through_several_iterations(solver: Solver) -> None:
    edges = [{"src": "a", "dst": "b", "distance": 3}, ("a", "c")]
    graph = gl.Graph.build([{"name": "a", "bits": 2}, "b", "c"], edges)
    problem = gl.ModuloProblem(graph, ii=2, horizon=4)
    # a at 2, b at 0 of the third iteration after: alive on 4 boundaries, which is 2 copies in each of 2 slots.
    assert gl.solve(problem, solver).objective == 4


@EXACT
def test_a_time_limit_is_no_proof(solver: Solver) -> None:
    problem = gl.FootprintProblem(random_dag(30, seed=2), horizon=20)
    result = gl.solve(problem, solver, stop=gl.MaxSteps(1))
    assert result.status in (gl.Status.FEASIBLE, gl.Status.OPTIMAL)
    loop = gl.ModuloProblem(gl.load("ewf_loop"), limits={"MUL": 1, "ALU": 2}, horizon=60)
    result = gl.solve(loop, solver, stop=gl.MaxSeconds(0))
    assert result.status is gl.Status.UNKNOWN
    assert "more time" in result.reason


@EXACT
def test_a_proof_by_search_names_horizon_and_interval(solver: Solver) -> None:
    graph = gl.load("ewf_loop")
    result = gl.solve(gl.ModuloProblem(graph, limits={"MUL": 1, "ALU": 2}, ii=16, horizon=33), solver)
    assert result.status is gl.Status.INFEASIBLE
    assert "horizon 33 and II 16" in result.reason


@pytest.mark.parametrize("solver_class", [gl.CpSat, gl.Milp])
def test_a_warm_start_is_kept_unless_something_better_is_found(solver_class: Any) -> None:
    problem = gl.ResourceProblem(random_dag(40, seed=4), horizon=30, weights="balanced")
    best = gl.solve(problem, gl.CpSat(), stop=gl.MaxSteps(30)).schedule
    assert best is not None
    warm = solver_class(warm_start=best)
    assert warm == solver_class(warm_start=best.start.tolist())
    assert hash(warm) == hash(solver_class(warm_start=tuple(best.start.tolist())))
    assert gl.solve(problem, warm, stop=gl.MaxSeconds(0)).objective == problem.objective(best)
    with pytest.raises(gl.SolverError, match="warm_start has 40 starts, graph 'hal' has 11 operations"):
        gl.solve(gl.FootprintProblem(gl.load("hal")), warm)
    for wrong in ("early", [0.5], [[0]]):
        with pytest.raises(gl.SolverError, match="warm_start must be a Schedule"):
            solver_class(warm_start=wrong)


@pytest.mark.parametrize(
    ("solver_class", "settings"),
    [
        (gl.CpSat, {"workers": 0}),
        (gl.CpSat, {"effort": 0}),
        (gl.Milp, {"threads": 0}),
        (gl.Milp, {"nodes": 0}),
    ],
)
def test_a_setting_out_of_range_is_refused(solver_class: Any, settings: dict[str, int]) -> None:
    with pytest.raises(gl.SolverError, match=next(iter(settings))):
        solver_class(**settings)


@EXACT
def test_sums_beyond_the_solvers_arithmetic_are_refused_with_the_figure(solver: Solver) -> None:
    graph = gl.Graph.build(
        [{"name": n, "weight": 2**30, "bits": 2**41} for n in "abcd"], [("a", "b"), ("c", "d")]
    )
    dear = gl.ResourceProblem(graph, horizon=4, resource_weights=2**40)
    with pytest.raises(
        gl.SolverError, match=r"may reach \d{10,}, it computes up to \d+; use smaller weights"
    ):
        gl.solve(dear, solver)
    crossing = gl.ResourceProblem(
        graph.replace(weight=1, bits=1, cost=2**40), horizon=4, communication_weight=2**20
    )
    with pytest.raises(gl.SolverError, match="the largest cost of a schedule may reach"):
        gl.solve(crossing, solver)


@pytest.mark.parametrize(("name", "package"), [("CpSat", "ortools"), ("Milp", "highspy")])
def test_a_missing_package_is_named_with_the_remedy(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for loaded in [key for key in sys.modules if key.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, loaded)
    with pytest.raises(gl.SolverError, match=rf"{package}; install it with: pip install 'gaus-lab\[exact\]'"):
        gl.solve(gl.FootprintProblem(gl.load("hal"), horizon=8), getattr(gl, name)())


@pytest.mark.parametrize("letter", "ABR")
def test_intervals_and_literals_say_the_same(letter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problems()[letter]
    with_literals = gl.solve(problem, gl.CpSat())
    assert cp_sat_model.cells(TimeWindows.of(problem, 40)) > 0
    monkeypatch.setattr(cp_sat_model, "MAX_CELLS", -1)
    with_intervals = gl.solve(problem, gl.CpSat())
    assert with_intervals.objective == with_literals.objective


def test_equal_seeds_give_equal_schedules() -> None:
    problem = gl.FootprintProblem(random_dag(50, seed=1), horizon=30)
    first, second = (gl.solve(problem, gl.CpSat(), seed=5, stop=gl.MaxSteps(40)) for _ in range(2))
    assert first.schedule is not None and second.schedule is not None
    assert np.array_equal(first.schedule.start, second.schedule.start)


@pytest.mark.parametrize("name", ["CpSat", "Milp"])
def test_an_interrupt_ends_the_search_and_keeps_the_best(name: str) -> None:
    code = textwrap.dedent(
        f"""
        import signal, threading, os
        import gaus_lab as gl
        from gaus_lab.datasets import random_dag
        problem = gl.FootprintProblem(random_dag(300, seed=1), horizon=60)
        solver = gl.{name}()  # an interrupt while compiled modules load is another matter
        threading.Timer(2.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        result = gl.solve(problem, solver, stop=gl.MaxSeconds(600), bound=False)
        print(result.interrupted, result.objective == problem.objective(result.schedule), result.seconds < 300)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.stdout.split() == ["True", "True", "True"]
