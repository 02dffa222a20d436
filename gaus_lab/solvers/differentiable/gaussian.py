"""The Gaussian relaxation: operation i starts at ``X_i ~ N(mu_i, sigma_i^2)``, rounded to a step.

Everything here is elementwise on tensors, differentiable in mu and sigma, and exact far into the tails.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def density(z: Tensor) -> Tensor:
    """Return the standard normal density at z."""
    return torch.exp(-0.5 * z * z - _LOG_SQRT_2PI)


def step_probability(mu: Tensor, sigma: Tensor, d: Tensor) -> Tensor:
    """Return ``P_i(d) = F((d + 1/2 - mu) / sigma) - F((d - 1/2 - mu) / sigma)``.

    The difference is taken on the nearer tail, so that it keeps its relative precision far from mu.

    Parameters
    ----------
    mu, sigma, d : tensors that broadcast, steps; sigma > 0

    References
    ----------
    Cai et al., arXiv 2602.20427, the probability that operation i is in step d.

    Examples
    --------
    >>> mu, sigma = torch.tensor([2.0]), torch.tensor([1e-3])
    >>> step_probability(mu, sigma, torch.arange(4)).tolist()
    [0.0, 0.0, 1.0, 0.0]
    """
    nearer, further = _tails(mu, sigma, d)
    share: Tensor = torch.special.ndtr(nearer) - torch.special.ndtr(further)
    return share


def log_step_probability(mu: Tensor, sigma: Tensor, d: Tensor) -> Tensor:
    """Return ``log P_i(d)``, finite with a useful gradient where `step_probability` underflows to 0.

    ``log(F(a) - F(b)) = log F(a) + log(1 - exp(log F(b) - log F(a)))`` with a > b on the nearer (left) tail.
    """
    nearer, further = _tails(mu, sigma, d)
    upper, lower = torch.special.log_ndtr(nearer), torch.special.log_ndtr(further)
    share: Tensor = upper + _log_one_minus_exp(lower - upper)
    return share


def _tails(mu: Tensor, sigma: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    """Return both edges of step d in deviations, mirrored to the left tail: larger first."""
    distance = torch.abs(d - mu)
    return (0.5 - distance) / sigma, (-0.5 - distance) / sigma


def _log_one_minus_exp(x: Tensor) -> Tensor:
    """Return ``log(1 - exp(x))`` for x < 0 without cancellation (Maechler 2012)."""
    # The branch that is not taken gets a harmless argument, else its infinite gradient would poison the other.
    near = x > -math.log(2)
    small = torch.where(near, x, torch.full_like(x, -1.0))
    large = torch.where(near, torch.full_like(x, -1.0), x)
    return torch.where(near, torch.log(-torch.expm1(small)), torch.log1p(-torch.exp(large)))


def expected_excess(mean: Tensor, deviation: Tensor) -> Tensor:
    """Return ``E[max(0, Y)]`` of Y ~ N(mean, deviation^2): ``m F(m / s) + s f(m / s)``.

    As the deviation falls to 0 it tends to ``max(0, mean)``, gradient included.

    Examples
    --------
    >>> expected_excess(torch.tensor([2.0, -2.0]), torch.tensor([1e-6, 1e-6])).tolist()
    [2.0, 0.0]
    """
    z = mean / deviation
    excess: Tensor = mean * torch.special.ndtr(z) + deviation * density(z)
    return excess
