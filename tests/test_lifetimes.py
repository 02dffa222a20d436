"""Expected liveness: it tends to the exact one, its windows agree with the dense sums, and gradients are right."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import graphs

import gaus_lab as gl
from gaus_lab.analysis import alap, asap
from gaus_lab.graph import Graph
from gaus_lab.schedule import Schedule
from gaus_lab.solvers.differentiable.legalize import Legalizer
from gaus_lab.solvers.differentiable.lifetimes import LifetimeWindows
from gaus_lab.solvers.differentiable.terms import liveness, value_uses

CPU = torch.device("cpu")
FORK = Graph.build(
    [{"name": "a", "bits": 3}, {"name": "b", "latency": 2, "bits": 5}, "c", "d", "e"],
    [("a", "b"), ("a", "c"), ("a", "e"), ("b", "d"), ("b", "e"), ("c", "d")],
)


def legal_start(graph: Graph, horizon: int, seed: int) -> np.ndarray:
    """Return a random schedule that keeps the dependences of distance 0."""
    rng = np.random.default_rng(seed)
    late, start = alap(graph, horizon), np.zeros(graph.n_ops, dtype=np.int64)
    for op in graph.order.tolist():
        into = np.flatnonzero((graph.dst == op) & (graph.distance == 0))
        ready = int((start[graph.src[into]] + graph.lag[into]).max(initial=0))
        start[op] = rng.integers(max(ready, 0), late[op] + 1)
    return start


def exact(graph: Graph, start: np.ndarray, horizon: int, hold: bool) -> list[int]:
    """Return live bits by boundary from the definition, value by value."""
    live = [0] * horizon
    for u in range(graph.n_ops):
        uses = [int(start[v]) for src, v, _ in zip(*value_uses(graph), strict=True) if src == u]
        death = max(uses) if uses else horizon if hold else 0
        for d in range(int(start[u]) + max(int(graph.latency[u]) - 1, 0), death):
            live[d] += int(graph.bits[u])
    return live


def tensors(start: np.ndarray, sigma: float) -> tuple[torch.Tensor, torch.Tensor]:
    mu = torch.as_tensor(start, dtype=torch.float64)
    return mu, torch.full_like(mu, sigma)


def windows(graph: Graph, horizon: int, hold: bool, max_sigma: float) -> LifetimeWindows:
    early, late = asap(graph), alap(graph, horizon)
    return LifetimeWindows(graph, early, late, horizon, hold, max_sigma, CPU, torch.float64)


@given(graph=graphs(), slack=st.integers(0, 5), seed=st.integers(0, 99), hold=st.booleans())
@settings(deadline=None, max_examples=80)
def test_both_tend_to_the_exact_liveness(graph: Graph, slack: int, seed: int, hold: bool) -> None:
    horizon = int((asap(graph) + graph.span).max(initial=0)) + slack
    start = legal_start(graph, horizon, seed)
    expected = exact(graph, start, horizon, hold)
    peak = Schedule(graph, start).footprint(horizon if hold else None)
    assert max(expected, default=0) == peak
    mu, sigma = tensors(start, 1e-4)
    assert torch.round(liveness(mu, sigma, graph, horizon, hold)).tolist() == expected
    assert torch.round(windows(graph, horizon, hold, 6.0)(mu, sigma)).tolist() == expected


@pytest.mark.parametrize("hold", [False, True])
def test_windows_agree_with_the_dense_sums_where_dependences_keep_their_distance(hold: bool) -> None:
    horizon = 60
    mu, sigma = tensors(np.array([5, 20, 22, 45, 40]), 1.5)
    dense = liveness(mu, sigma, FORK, horizon, hold)
    assert torch.allclose(windows(FORK, horizon, hold, 3.0)(mu, sigma), dense, atol=2e-3 * 9)


def test_a_narrow_window_keeps_the_mass() -> None:
    mu, sigma = tensors(np.array([5, 20, 22, 45, 40]), 0.5)
    live = windows(FORK, 60, False, 0.5)(mu, sigma)
    assert live[-1].abs() < 1e-9
    assert float(live.sum()) == pytest.approx(3 * (40 - 5) + 5 * (45 - 21) + (45 - 22), abs=0.5)


def test_gradient_of_liveness() -> None:
    mu = torch.tensor([1.3, 4.2, 3.1, 9.4, 8.7], dtype=torch.float64, requires_grad=True)
    sigma = torch.full((5,), 0.8, dtype=torch.float64, requires_grad=True)
    weigh = torch.linspace(0.1, 1.0, 14, dtype=torch.float64)
    layout = windows(FORK, 14, True, 1.0)
    assert torch.autograd.gradcheck(lambda m, s: (layout(m, s) * weigh).sum(), (mu, sigma))
    assert torch.autograd.gradcheck(lambda m, s: liveness(m, s, FORK, 14, True), (mu, sigma))


def test_expected_liveness_meets_samples() -> None:
    mu, sigma = tensors(np.array([2, 8, 9, 18, 16]), 1.2)
    rng = np.random.default_rng(3)
    drawn = np.rint(rng.normal(mu.numpy(), sigma.numpy(), size=(4000, 5))).astype(np.int64)
    mean = np.mean([exact(FORK, start, 30, False) for start in drawn], axis=0)
    assert np.abs(liveness(mu, sigma, FORK, 30).numpy() - mean).max() < 0.35


@pytest.mark.fast
@pytest.mark.parametrize("name", ["ar", "dct", "fir", "array_multiplier"])
def test_footprints_below_the_extremes(name: str) -> None:
    graph = gl.load(name)
    problem = gl.FootprintProblem(graph, horizon=gl.critical_path_length(graph) + 2)
    found = gl.solve(problem, gl.GauS(), seed=0, stop=gl.MaxSteps(600)).objective
    others = [gl.solve(problem, solver).objective for solver in (gl.Asap(), gl.Alap())]
    assert found is not None
    assert found < min(others)


@pytest.mark.parametrize(
    ("name", "most"), [("ctrl", 32), ("int2float", 39), ("router", 60), ("cavlc", 132), ("i2c", 146)]
)
def test_footprints_of_circuits(data_dir, name: str, most: int) -> None:
    problem = gl.FootprintProblem(gl.load(f"epfl/{name}"))
    result = gl.solve(problem, gl.GauS(), seed=0, stop=gl.MaxSteps(1400))
    assert gl.verify(problem, result.schedule) == []
    assert result.objective <= most


@given(graph=graphs(), ii=st.integers(1, 5), slack=st.integers(0, 4), hold=st.booleans(), data=st.data())
@settings(deadline=None, max_examples=80)
def test_loops_tend_to_the_exact_liveness(
    graph: Graph, ii: int, slack: int, hold: bool, data: st.DataObject
) -> None:
    ii = max(ii, gl.rec_mii(graph))
    early = asap(graph, ii)
    horizon = int((early + graph.span).max(initial=0)) + slack
    late = alap(graph, horizon, ii)
    drawn = np.array([data.draw(st.integers(int(a), int(b))) for a, b in zip(early, late, strict=True)])
    start = Legalizer(graph, early, late, ii)(drawn.astype(float))[0] if graph.n_ops else early
    schedule = Schedule(graph, start, ii)
    expected = schedule.liveness(horizon if hold else None)
    mu, sigma = tensors(start, 1e-4)
    assert torch.round(liveness(mu, sigma, graph, horizon, hold, ii)).tolist() == expected.tolist()
    layout = LifetimeWindows(graph, early, late, horizon, hold, 6.0, CPU, torch.float64, ii=ii)
    assert torch.round(layout(mu, sigma)).tolist() == expected.tolist()
