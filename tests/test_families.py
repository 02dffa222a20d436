"""Families of distributions: one scale, consistent functions, and every one of them schedules."""

from __future__ import annotations

import pytest
import torch

import gaus_lab as gl
from gaus_lab.errors import SolverError
from gaus_lab.solvers.differentiable.families import FAMILIES, QUARTILE, family_named, step_share

Z = torch.linspace(-8, 8, 801, dtype=torch.float64)


@pytest.mark.parametrize("name", FAMILIES)
def test_derivatives_and_logarithm_agree(name: str) -> None:
    family = FAMILIES[name]
    z = Z.clone().requires_grad_()
    slope = torch.autograd.grad(family.primitive(z).sum(), z)[0]
    assert torch.allclose(slope, family.cdf(Z), atol=1e-12)
    density = torch.autograd.grad(family.cdf(z).sum(), z)[0]
    assert torch.allclose(density, family.density(Z), atol=1e-12)
    assert torch.allclose(family.log_cdf(Z).exp(), family.cdf(Z), atol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_quartiles_are_those_of_the_normal_distribution(name: str) -> None:
    at = torch.tensor([-QUARTILE, 0.0, QUARTILE], dtype=torch.float64)
    assert FAMILIES[name].cdf(at).tolist() == pytest.approx([0.25, 0.5, 0.75])


@pytest.mark.parametrize("name", FAMILIES)
def test_steps_tend_to_the_nearest(name: str) -> None:
    steps = torch.arange(6, dtype=torch.float64)
    mu = torch.tensor([2.3], dtype=torch.float64)
    share = step_share(FAMILIES[name], mu, torch.tensor([1e-6], dtype=torch.float64), steps)
    assert share.round().tolist() == [0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("violation", ["excess", "pairs"])
def test_every_family_and_violation_schedules(name: str, violation: str) -> None:
    problem = gl.ResourceProblem(gl.load("ewf"), horizon=20)
    solver = gl.GauS(family=name, violation=violation, rounds=1, first_round=60, refine=0.0)
    result = gl.solve(problem, solver, stop=gl.MaxSteps(60))
    assert result.schedule is not None
    assert gl.verify(problem, result.schedule) == []
    assert result.objective <= gl.solve(problem, gl.Asap()).objective


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(
        SolverError, match="family must be one of gaussian, logistic, laplace, cauchy, got 'x'"
    ):
        family_named("x")
    with pytest.raises(SolverError, match="start must be 'middle', 'asap', 'alap' or 'list', got 'x'"):
        gl.GauS(start="x")


def test_pairs_are_refused_where_they_do_not_fit() -> None:
    ops = [{"name": f"a{i}", "latency": 2**14} for i in range(70)]
    graph = gl.Graph.build(ops, [(f"a{i}", f"a{i + 1}") for i in range(69)])
    with pytest.raises(SolverError, match="violation 'pairs' needs 139 x"):
        gl.GauS(violation="pairs").init(gl.ResourceProblem(graph))
