"""The Gaussian relaxation: every expected quantity tends to its exact twin, has a right gradient, and meets samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from small_graphs import graphs

from gaus_lab.analysis import alap, asap
from gaus_lab.graph import Graph
from gaus_lab.schedule import Schedule
from gaus_lab.solvers.differentiable.gaussian import (
    expected_excess,
    log_step_probability,
    step_probability,
)
from gaus_lab.solvers.differentiable.terms import (
    EdgeTensors,
    communication_slope,
    peak_usage,
    precedence,
    precedence_by_pairs,
    precedence_excess,
)
from gaus_lab.solvers.differentiable.windows import UsageWindows

CPU = torch.device("cpu")


def windows(graph: Graph, horizon: int, max_sigma: float) -> UsageWindows:
    return UsageWindows(
        asap(graph),
        alap(graph, horizon),
        graph.occupancy,
        graph.weight,
        graph.resource_index,
        len(graph.resources),
        horizon,
        max_sigma,
        CPU,
        torch.float64,
    )


def some_legal_start(graph: Graph, horizon: int, seed: int) -> np.ndarray:
    """Return a random legal schedule: each operation, in order, anywhere its producers and ALAP allow."""
    rng = np.random.default_rng(seed)
    late, start = alap(graph, horizon), np.zeros(graph.n_ops, dtype=np.int64)
    for op in graph.order.tolist():
        into = [e for e in range(graph.n_edges) if graph.dst[e] == op and graph.distance[e] == 0]
        ready = max([0, *(int(start[graph.src[e]] + graph.lag[e]) for e in into)])
        start[op] = rng.integers(ready, late[op] + 1)
    return start


# ---- twins: expected -> exact as sigma -> 0 ---------------------------------------------------------------


@given(graph=graphs(), slack=st.integers(0, 5), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_expected_usage_tends_to_usage(graph: Graph, slack: int, seed: int) -> None:
    horizon = int((asap(graph) + graph.span).max(initial=0)) + slack
    start = some_legal_start(graph, horizon, seed)
    mu, sigma = (
        torch.tensor(start, dtype=torch.float64),
        torch.full((graph.n_ops,), 1e-3, dtype=torch.float64),
    )
    expected = windows(graph, horizon, 2.0)(mu, sigma).numpy()
    exact = Schedule(graph, start).usage_profiles
    for row, resource in zip(expected, graph.resources, strict=True):
        np.testing.assert_allclose(row, exact[resource].dense(len(row)), atol=1e-9)


@given(graph=graphs(), slack=st.integers(0, 5), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_expected_violation_tends_to_the_violation(graph: Graph, slack: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 6 + slack, graph.n_ops)
    mu, sigma = (
        torch.tensor(start, dtype=torch.float64),
        torch.full((graph.n_ops,), 1e-6, dtype=torch.float64),
    )
    edges = EdgeTensors.of_graph(graph, CPU, torch.float64)
    keep = graph.distance == 0
    amount = (start[graph.src] + graph.lag - start[graph.dst])[keep]
    np.testing.assert_allclose(precedence(mu, sigma, edges).numpy(), np.maximum(amount, 0), atol=1e-5)
    np.testing.assert_allclose(precedence_excess(mu, sigma, edges).numpy(), np.maximum(amount, 0), atol=1e-5)
    steps = int(start.max(initial=0)) + 1
    pairs = precedence_by_pairs(mu, torch.full_like(sigma, 1e-3), edges, steps).numpy()
    np.testing.assert_allclose(pairs, amount > 0, atol=1e-9)


@given(graph=graphs(), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_communication_is_linear_in_the_starts(graph: Graph, seed: int) -> None:
    start = np.random.default_rng(seed).integers(0, 50, graph.n_ops)
    assert communication_slope(graph) @ start == Schedule(graph, start).communication


def test_smooth_peak_tends_to_the_peak() -> None:
    usage = torch.tensor([[1.0, 5.0, 5.0, 2.0], [0.0, 0.0, 3.0, 0.0]], dtype=torch.float64)
    for tau in (1.0, 0.1, 1e-3):
        smooth = peak_usage(usage, tau)
        exact = usage.max(1).values
        assert (smooth >= exact).all() and (smooth <= exact + tau * math.log(4)).all()


# ---- the windows ------------------------------------------------------------------------------------------


def test_windows_hold_all_the_mass_and_agree_with_the_step_probabilities() -> None:
    graph = Graph.build([f"x{i}" for i in range(40)])
    horizon = 60
    mu = torch.linspace(10, 50, 40, dtype=torch.float64)
    sigma = torch.full((40,), 2.0, dtype=torch.float64)
    usage = windows(graph, horizon, 2.0)(mu, sigma)
    assert usage.sum().item() == pytest.approx(40)
    dense = step_probability(mu[:, None], sigma[:, None], torch.arange(horizon, dtype=torch.float64)).sum(0)
    # Beyond three deviations the mass counts in the window's last steps: 40 operations, 0.3 % each.
    np.testing.assert_allclose(usage[0, :horizon].numpy(), dense.numpy(), atol=40 * 0.0027)


def test_cells_follow_windows_not_the_horizon() -> None:
    graph = Graph.build([f"x{i}" for i in range(10)])
    cells = [windows(graph, horizon, 1.0).n_cells for horizon in (100, 10_000)]
    assert cells[0] == cells[1] == 10 * 7


@pytest.mark.parametrize("occupancy", [1, 3])
def test_gradient_of_usage(occupancy: int) -> None:
    ops = [{"name": f"x{i}", "occupancy": occupancy, "weight": i + 1, "type": "ab"[i % 2]} for i in range(5)]
    graph = Graph.build(ops, [("x0", "x1"), ("x1", "x4")])
    usage = windows(graph, 9, 1.5)
    # Away from half steps: there the window moves, and the mass beyond it with it.
    mu = torch.tensor([1.2, 2.3, 3.1, 4.2, 5.3], dtype=torch.float64, requires_grad=True)
    sigma = torch.tensor([0.4, 0.7, 1.0, 1.3, 0.9], dtype=torch.float64, requires_grad=True)
    weights = torch.rand(usage.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.autograd.gradcheck(lambda m, s: (usage(m, s) * weights).sum(), (mu, sigma))


def test_gradient_of_precedence() -> None:
    graph = Graph.build(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")])
    edges = EdgeTensors.of_graph(graph, CPU, torch.float64)
    mu = torch.tensor([0.3, 1.0, 1.1], dtype=torch.float64, requires_grad=True)
    sigma = torch.tensor([0.5, 0.2, 1.5], dtype=torch.float64, requires_grad=True)
    for term in (precedence, precedence_excess):
        assert torch.autograd.gradcheck(lambda m, s, term=term: term(m, s, edges), (mu, sigma))
    assert torch.autograd.gradcheck(lambda m, s: precedence_by_pairs(m, s, edges, 6), (mu, sigma))


# ---- Monte-Carlo ------------------------------------------------------------------------------------------


def test_expectations_meet_samples() -> None:
    rng = np.random.default_rng(1)
    mu, sigma, n = np.array([3.0, 4.2]), np.array([1.1, 0.7]), 400_000
    draws = mu + sigma * rng.standard_normal((n, 2))
    graph = Graph.build([{"name": "u", "latency": 2}, "v"], [("u", "v")])
    edges = EdgeTensors.of_graph(graph, CPU, torch.float64)
    tensors = torch.tensor(mu), torch.tensor(sigma)
    sampled = np.maximum(draws[:, 0] + 2 - draws[:, 1], 0)
    error = 4 * sampled.std() / math.sqrt(n)
    assert precedence(*tensors, edges).item() == pytest.approx(sampled.mean(), abs=error)
    rounded = np.rint(draws)
    broken = (rounded[:, 0] + 2 > rounded[:, 1]).mean()
    pairs = precedence_by_pairs(*tensors, edges, 40).item()
    assert pairs == pytest.approx(broken, abs=4 / math.sqrt(n))
    for d in range(2, 6):
        share = step_probability(*tensors, torch.tensor(float(d), dtype=torch.float64))
        np.testing.assert_allclose(share.numpy(), (rounded == d).mean(0), atol=4 / math.sqrt(n))


# ---- tails ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [-40, -9, 0, 1, 9, 40, 400])
def test_log_probability_in_the_tails(d: int) -> None:
    mu = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    value = log_step_probability(mu, torch.ones_like(mu), torch.tensor([float(d)], dtype=torch.float64))
    value.backward()
    near, far = abs(d) - 0.5, abs(d) + 0.5
    exact = (
        norm.logsf(near) + math.log1p(-math.exp(norm.logsf(far) - norm.logsf(near)))
        if d
        else math.log(0.3829249)
    )
    assert value.item() == pytest.approx(exact, rel=1e-6)
    assert math.isfinite(mu.grad.item()) and math.copysign(1, d) * mu.grad.item() >= 0


def test_expected_excess_has_a_gradient_as_sigma_vanishes() -> None:
    mean = torch.tensor([-1.0, 1.0], dtype=torch.float64, requires_grad=True)
    expected_excess(mean, torch.full((2,), 1e-9, dtype=torch.float64)).sum().backward()
    assert mean.grad.tolist() == [0.0, 1.0]


def test_the_constraint_is_0_on_a_tight_edge_and_negative_with_slack() -> None:
    graph = Graph.build(["a", "b"], [("a", "b")])
    edges = EdgeTensors.of_graph(graph, CPU, torch.float64)
    sigma = torch.tensor([2.0, 1.0], dtype=torch.float64)
    values = [
        precedence_excess(torch.tensor([0.0, b], dtype=torch.float64), sigma, edges).item()
        for b in (0.5, 1.0, 1.5)
    ]
    assert values[0] > 0 and values[1] == pytest.approx(0, abs=1e-12) and values[2] < 0
