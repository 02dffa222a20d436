"""The augmented Lagrangian alone, on textbook problems."""

from __future__ import annotations

import math

import pytest
import torch

from gaus_lab.solvers.differentiable.lagrangian import Multipliers, inequality_term

pytestmark = pytest.mark.fast


def tensor(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


@pytest.mark.parametrize(
    ("multiplier", "value", "rho", "term"),
    [
        (3.0, 0.5, 2.0, 1.75),
        (3.0, -2.0, 2.0, -2.25),
        (3.0, 0.5, 0.0, 1.5),
        (0.0, -1.0, 5.0, 0.0),
        (0.0, 2.0, 3.0, 6.0),
    ],
)
def test_term(multiplier: float, value: float, rho: float, term: float) -> None:
    assert inequality_term(tensor(multiplier), tensor(value), rho).item() == term


def test_term_is_continuous_where_the_constraint_turns_inactive() -> None:
    edge = -3.0 / 2.0
    below, above = (inequality_term(tensor(3.0), tensor(edge + d), 2.0).item() for d in (-1e-9, 1e-9))
    assert below == pytest.approx(above, abs=1e-8)


def test_textbook_problem_on_a_circle() -> None:
    """Nocedal & Wright, example 17.1 (as an inequality): min x + y on x^2 + y^2 <= 2 is (-1, -1), multiplier 1/2."""
    point = torch.tensor([0.5, -0.3], dtype=torch.float64, requires_grad=True)
    multipliers = Multipliers(torch.zeros(1, dtype=torch.float64), tensor(1.0), growth=2.0, limit=100.0)
    for _ in range(30):
        optimizer = torch.optim.LBFGS([point], max_iter=50, line_search_fn="strong_wolfe")

        def closure(optimizer: torch.optim.Optimizer = optimizer) -> torch.Tensor:
            optimizer.zero_grad()
            loss = point.sum() + multipliers.term((point @ point - 2)[None])
            loss.backward()
            return loss

        optimizer.step(closure)
        multipliers.update((point @ point - 2)[None])
    assert point.tolist() == pytest.approx([-1.0, -1.0], abs=1e-6)
    assert multipliers.value.item() == pytest.approx(0.5, abs=1e-6)


def test_multiplier_of_a_slack_constraint_falls_to_0() -> None:
    multipliers = Multipliers(torch.tensor([4.0]), torch.tensor(1.0))
    for _ in range(5):
        multipliers.update(torch.tensor([-1.0]))
    assert multipliers.value.tolist() == [0.0]


def test_rho_grows_only_where_the_violation_does_not_fall_and_not_beyond_its_limit() -> None:
    multipliers = Multipliers(torch.zeros(1), torch.tensor(1.0), growth=10.0, required=0.5, limit=50.0)
    sizes = [4.0, 1.0, 0.9, 0.9, 0.9]
    rhos = []
    for size in sizes:
        multipliers.update(torch.tensor([size]))
        rhos.append(multipliers.rho.item())
    assert rhos == [1.0, 1.0, 10.0, 50.0, 50.0]
    assert math.isfinite(multipliers.value.item())
