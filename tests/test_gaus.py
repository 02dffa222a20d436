"""GauS as a whole: stepping, determinism, any-time behaviour, settings, and quality on known instances."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import gaus_lab as gl
from gaus_lab.run import Run


def chain(n: int) -> gl.Graph:
    names = [f"x{i}" for i in range(n)]
    return gl.Graph.build(names, list(itertools.pairwise(names)))


def test_stepping_reaches_a_legal_schedule_and_keeps_mu_in_its_window() -> None:
    problem = gl.ResourceProblem(gl.load("ewf"), horizon=18, communication_weight=1)
    solver = gl.GauS()
    state = solver.init(problem, seed=3)
    for _ in range(40):
        solver.step(state)
        mu = state.mu.detach().numpy()
        assert (mu >= state.early).all() and (mu <= state.late).all()
    schedules = list(solver.finish(state))
    assert schedules and all(gl.verify(problem, start) == [] for start in schedules)


def test_two_parameters_an_operation_both_learned() -> None:
    problem = gl.ResourceProblem(gl.load("ewf"), horizon=20, communication_weight=1)
    solver = gl.GauS()
    state = solver.init(problem)
    before = [p.detach().clone() for p in (state.mu, state.spread)]
    assert sum(p.numel() for p in before) == 2 * problem.graph.n_ops
    for _ in range(5):
        solver.step(state)
    assert all(not torch.equal(a, b) for a, b in zip(before, (state.mu, state.spread), strict=True))
    assert len(state.multipliers.value) == problem.graph.n_edges


def test_same_seed_same_schedule_other_seed_other_path() -> None:
    problem = gl.ResourceProblem(gl.load("fir", taps=12), horizon=9, communication_weight=1)
    solver = gl.GauS(rounds=2, first_round=60)
    first, again = (gl.solve(problem, solver, seed=5) for _ in range(2))
    assert first.schedule.start.tolist() == again.schedule.start.tolist()
    assert [v for _, v in first.history] == [v for _, v in again.history]
    states = [solver.init(problem, seed) for seed in (5, 6)]
    assert not torch.equal(states[0].mu, states[1].mu)


@pytest.mark.parametrize(("name", "horizon", "optimum"), [("hal", 6, 3), ("ewf", 20, 2), ("diamond", 4, 1)])
def test_smallest_peak_on_small_graphs(name: str, horizon: int, optimum: int) -> None:
    graph = gl.load(name)
    problem = gl.ResourceProblem(
        graph.replace(resource_of_type=dict.fromkeys(graph.types, "unit")), horizon=horizon
    )
    assert gl.solve(problem, gl.GauS(rounds=2)).objective >= problem.bound()
    exact = gl.solve(problem, gl.GauS(rounds=2)).terms["peak_usage"]["unit"]
    assert exact <= max(optimum, problem.bound())


def test_only_communication_reaches_the_linear_program() -> None:
    problem = gl.ResourceProblem(gl.load("dct"), horizon=14, resource_weights=0, communication_weight=1)
    result = gl.solve(problem, gl.GauS(rounds=2))
    assert result.objective == problem.bound() and result.status == gl.Status.OPTIMAL


@pytest.mark.parametrize("stop", [gl.MaxSteps(1), gl.MaxSteps(0), gl.NoImprovement(5), gl.MaxSeconds(0)])
def test_stops_at_once_with_a_schedule(stop: object) -> None:
    problem = gl.ResourceProblem(gl.load("idct"), weights="balanced")
    result = gl.solve(problem, gl.GauS(), stop=stop)
    assert gl.verify(problem, result.schedule) == []


def test_an_interrupt_keeps_the_best_so_far() -> None:
    problem = gl.ResourceProblem(gl.load("idct"), weights="balanced")

    def interrupt(run: Run) -> None:
        if run.steps == 30:
            raise KeyboardInterrupt

    threads = torch.get_num_threads()
    result = gl.solve(problem, gl.GauS(), watch=interrupt)
    assert gl.verify(problem, result.schedule) == [] and torch.get_num_threads() == threads


@pytest.mark.parametrize(
    "graph",
    [gl.Graph.build([]), gl.Graph.build(["a"]), chain(30), gl.Graph.build([f"x{i}" for i in range(50)])],
    ids=["empty", "single", "chain", "independent"],
)
@pytest.mark.parametrize("slack", [0, 7])
def test_odd_graphs(graph: gl.Graph, slack: int) -> None:
    horizon = gl.critical_path_length(graph) + slack
    problem = gl.ResourceProblem(graph, horizon=horizon, communication_weight=1)
    result = gl.solve(problem, gl.GauS(rounds=1, first_round=50))
    assert gl.verify(problem, result.schedule) == []
    assert result.objective == problem.bound()


def test_huge_weights_and_latencies_stay_finite() -> None:
    ops = [{"name": f"x{i}", "weight": 2**40, "latency": 1 + i % 3} for i in range(20)]
    graph = gl.Graph.build(ops, [(f"x{i}", f"x{i + 5}") for i in range(15)])
    problem = gl.ResourceProblem(graph, horizon=20, resource_weights=2**20, communication_weight=2**30)
    result = gl.solve(problem, gl.GauS(rounds=1))
    assert gl.verify(problem, result.schedule) == [] and result.bound <= result.objective


def test_a_horizon_beyond_any_use_costs_nothing() -> None:
    graph = gl.load("hal")
    results = [
        gl.solve(gl.ResourceProblem(graph, horizon=h, communication_weight=1), gl.GauS(rounds=1)).objective
        for h in (100, 2**40)
    ]
    assert results[0] == results[1]


def test_a_grid_that_cannot_fit_is_refused() -> None:
    graph = gl.Graph.build([{"name": "a", "latency": 2**35}, "b"], [("a", "b")])
    with pytest.raises(gl.SolverError, match="coarser unit of time"):
        gl.solve(gl.ResourceProblem(graph), gl.GauS())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rounds": 0}, "rounds must be >= 1"),
        ({"first_round": 1.5}, "first_round must be an integer"),
        ({"learning_rate": 0}, "learning_rate must be > 0"),
        ({"sigma_max": float("nan")}, "sigma_max must be a finite number"),
        ({"rho": -1}, "rho must be a finite number"),
        ({"device": "tpu"}, "device must be 'auto', 'cpu' or 'cuda'"),
        ({"growth": 0.5}, "growth must be"),
    ],
)
def test_settings_out_of_range(setting: dict[str, object], message: str) -> None:
    with pytest.raises(gl.SolverError, match=message):
        gl.GauS(**setting)


def test_limits_hold() -> None:
    graph = gl.load("hal")
    limits = dict.fromkeys(graph.resources, 2)
    problem = gl.ResourceProblem(graph, horizon=10, limits=limits, communication_weight=1)
    result = gl.solve(problem, gl.GauS(rounds=1))
    assert result.schedule is not None
    assert max(result.terms["peak_usage"].values()) <= 2


@pytest.mark.gpu
def test_the_gpu_gives_a_verified_schedule_too() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device: torch.cuda.is_available() is False")
    problem = gl.ResourceProblem(gl.load("idct"), weights="balanced")
    result = gl.solve(problem, gl.GauS(rounds=1, device="cuda"))
    assert gl.verify(problem, result.schedule) == [] and result.device == "cuda"


def test_a_missing_gpu_is_one_clear_error() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    with pytest.raises(gl.SolverError, match="not available"):
        gl.solve(gl.ResourceProblem(gl.load("hal")), gl.GauS(device="cuda"))


def test_at_or_below_list_and_force_on_a_random_workload() -> None:
    problem = gl.ResourceProblem(gl.load("random_workload", n=150, seed=4), weights="balanced")
    gaus = gl.solve(problem, gl.GauS(rounds=3)).objective
    others = [gl.solve(problem, s).objective for s in (gl.ListScheduling(), gl.ForceDirected())]
    assert gaus <= min(others)
    assert np.isfinite(gaus)
