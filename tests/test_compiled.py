"""The compiled loops of the Gaussian relaxation agree with the tensor operations, in values and in gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import norm
from small_graphs import graphs

from gaus_lab.analysis import alap, asap, rec_mii
from gaus_lab.graph import Graph
from gaus_lab.solvers.differentiable import gaussian_kernels, lifetimes, windows
from gaus_lab.solvers.differentiable.adam import Adam
from gaus_lab.solvers.differentiable.lifetimes import LifetimeWindows
from gaus_lab.solvers.differentiable.terms import EdgeTensors, precedence_excess
from gaus_lab.solvers.differentiable.windows import UsageWindows

CPU = torch.device("cpu")
Term = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@pytest.fixture(autouse=True)
def whole_windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Widen the windows until no mass lies beyond them: the two cut it off at slightly different places."""
    with monkeypatch.context() as patch:
        patch.setattr(windows, "REACH", 9.0)
        patch.setattr(lifetimes, "REACH", 9.0)
        yield


def both(make: Callable[[torch.dtype], Term], early: np.ndarray, late: np.ndarray, seed: int) -> None:
    """Compare value and gradients of a term in single precision (compiled) and in double precision (tensors)."""
    rng = np.random.default_rng(seed)
    mean, deviation = early + (late - early) * rng.random(len(early)), 0.15 + 2 * rng.random(len(early))
    results = []
    for dtype in (torch.float32, torch.float64):
        mu = torch.tensor(mean, dtype=dtype, requires_grad=True)
        sigma = torch.tensor(deviation, dtype=dtype, requires_grad=True)
        value = make(dtype)(mu, sigma)
        slope = torch.sin(torch.arange(value.numel(), dtype=dtype)).view_as(value)
        (value * slope).sum().backward()
        zeros = torch.zeros_like(mu)
        grads = (zeros if p.grad is None else p.grad for p in (mu, sigma))
        results.append([t.detach().double().numpy() for t in (value, *grads)])
    for single, double in zip(*results, strict=True):
        scale = max(np.abs(double).max(initial=0), 1.0)
        np.testing.assert_allclose(single, double, atol=3e-5 * scale)


@given(graph=graphs(), slack=st.integers(0, 6), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_usage(graph: Graph, slack: int, seed: int) -> None:
    horizon = int((asap(graph) + graph.span).max(initial=0)) + slack
    early, late = asap(graph), alap(graph, horizon)

    def make(dtype: torch.dtype) -> Term:
        rows = graph.resource_index, len(graph.resources)
        return UsageWindows(early, late, graph.occupancy, graph.weight, *rows, horizon, 3.0, CPU, dtype)

    assert make(torch.float32).adapts and not make(torch.float64).adapts  # type: ignore[attr-defined]
    both(make, early, late, seed)


@given(
    graph=graphs(),
    ii=st.none() | st.integers(1, 5),
    slack=st.integers(0, 6),
    hold=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=60)
def test_lifetimes(graph: Graph, ii: int | None, slack: int, hold: bool, seed: int) -> None:
    if ii is not None:
        ii = max(ii, rec_mii(graph))
    early = asap(graph, ii)
    horizon = int((early + graph.span).max(initial=0)) + slack
    late = alap(graph, horizon, ii)

    def make(dtype: torch.dtype) -> Term:
        return LifetimeWindows(graph, early, late, horizon, hold, 3.0, CPU, dtype, ii=ii)

    both(make, early, late, seed)


@given(graph=graphs(), slack=st.integers(0, 6), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_violations(graph: Graph, slack: int, seed: int) -> None:
    horizon = int((asap(graph) + graph.span).max(initial=0)) + slack

    def make(dtype: torch.dtype) -> Term:
        edges = EdgeTensors.of_graph(graph, CPU, dtype)
        return lambda mu, sigma: precedence_excess(mu, sigma, edges)

    both(make, asap(graph), alap(graph, horizon), seed)


def test_the_table_is_exact_to_single_precision() -> None:
    z = np.concatenate([np.linspace(-7, 7, 4001), [-1e30, 1e30, -6.0, 6.0]])
    cdf, density = np.transpose([gaussian_kernels.cdf_and_density(value) for value in z])
    np.testing.assert_allclose(cdf, ndtr(z), atol=1e-8)
    np.testing.assert_allclose(density, norm.pdf(z), atol=1e-8)


def test_adam_takes_the_steps_of_torch() -> None:
    generator = torch.Generator().manual_seed(0)
    ours = [torch.rand(5, generator=generator).requires_grad_() for _ in range(2)]
    theirs = [p.detach().clone().requires_grad_() for p in ours]
    adam = Adam(ours, beta1=0.9, beta2=0.99)
    groups = [{"params": [p], "lr": rate} for p, rate in zip(theirs, (0.5, 0.02), strict=True)]
    reference = torch.optim.Adam(groups, betas=(0.9, 0.99))
    for _ in range(20):
        for a, b in ((ours[0], ours[1]), (theirs[0], theirs[1])):
            ((a - 0.3) ** 4 * b).sum().backward()
        adam.step((0.5, 0.02))
        reference.step()
        reference.zero_grad()
    for p, q in zip(ours, theirs, strict=True):
        torch.testing.assert_close(p, q)
