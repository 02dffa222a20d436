"""Families of distributions for the starts, through one interface: Gaussian, logistic, Laplace, Cauchy.

Operation i starts at ``mu_i + sigma_i Z`` with Z of the family. All are symmetric around 0 and scaled to the quartiles
of the standard normal, so that sigma spreads the middle half of the mass over the same steps in each of them; a
standard deviation would not do, since Cauchy's has none.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor

from gaus_lab.checks import short
from gaus_lab.errors import SolverError
from gaus_lab.solvers.differentiable.gaussian import density

#: Upper quartile of the standard normal.
QUARTILE = 0.6744897501960817
_LOGISTIC_RATE = math.log(3) / QUARTILE
_LAPLACE_RATE = math.log(2) / QUARTILE


class Family(Protocol):
    """A symmetric distribution of Z, elementwise on tensors.

    `primitive` is the integral of `cdf`, up to a constant. With it the expected excess of ``Y = m + s Z`` above 0 is
    ``s primitive(m / s)``, up to a multiple of s.
    """

    name: str

    def cdf(self, z: Tensor) -> Tensor:
        """Return ``P(Z <= z)``."""

    def log_cdf(self, z: Tensor) -> Tensor:
        """Return ``log P(Z <= z)``, finite far into the left tail."""

    def density(self, z: Tensor) -> Tensor:
        """Return the derivative of `cdf`."""

    def primitive(self, z: Tensor) -> Tensor:
        """Return an integral of `cdf`."""

    def spread_of_difference(self, one: Tensor, other: Tensor) -> Tensor:
        """Return the sigma of the difference of two independent starts."""


class Gaussian:
    """The normal distribution; the family of the paper. Differences are Gaussian too."""

    name = "gaussian"

    def cdf(self, z: Tensor) -> Tensor:
        """Return ``P(Z <= z)``."""
        return torch.special.ndtr(z)  # type: ignore[no-any-return]

    def log_cdf(self, z: Tensor) -> Tensor:
        """Return ``log P(Z <= z)``."""
        return torch.special.log_ndtr(z)  # type: ignore[no-any-return]

    def density(self, z: Tensor) -> Tensor:
        """Return the density."""
        return density(z)

    def primitive(self, z: Tensor) -> Tensor:
        """Return ``z F(z) + f(z)``."""
        return z * self.cdf(z) + density(z)

    def spread_of_difference(self, one: Tensor, other: Tensor) -> Tensor:
        """Return the root of the summed squares: exact."""
        return torch.sqrt(one * one + other * other)


class Logistic:
    """The logistic distribution; a difference is taken for logistic of the same variance, which it nearly is."""

    name = "logistic"

    def cdf(self, z: Tensor) -> Tensor:
        """Return ``P(Z <= z)``."""
        return torch.sigmoid(_LOGISTIC_RATE * z)

    def log_cdf(self, z: Tensor) -> Tensor:
        """Return ``log P(Z <= z)``."""
        return torch.nn.functional.logsigmoid(_LOGISTIC_RATE * z)

    def density(self, z: Tensor) -> Tensor:
        """Return the density."""
        share = torch.sigmoid(_LOGISTIC_RATE * z)
        return _LOGISTIC_RATE * share * (1 - share)

    def primitive(self, z: Tensor) -> Tensor:
        """Return the softplus."""
        return torch.nn.functional.softplus(_LOGISTIC_RATE * z) / _LOGISTIC_RATE

    def spread_of_difference(self, one: Tensor, other: Tensor) -> Tensor:
        """Return the root of the summed squares."""
        return torch.sqrt(one * one + other * other)


class Laplace:
    """The two-sided exponential distribution; a difference is taken for one of the same variance."""

    name = "laplace"

    def cdf(self, z: Tensor) -> Tensor:
        """Return ``P(Z <= z)``."""
        tail = 0.5 * torch.exp(-_LAPLACE_RATE * z.abs())
        return torch.where(z > 0, 1 - tail, tail)

    def log_cdf(self, z: Tensor) -> Tensor:
        """Return ``log P(Z <= z)``."""
        away = _LAPLACE_RATE * z.abs()
        return torch.where(z > 0, torch.log1p(-0.5 * torch.exp(-away)), -away - math.log(2))

    def density(self, z: Tensor) -> Tensor:
        """Return the density."""
        return 0.5 * _LAPLACE_RATE * torch.exp(-_LAPLACE_RATE * z.abs())

    def primitive(self, z: Tensor) -> Tensor:
        """Return ``max(0, z)`` plus half of the exponential tail."""
        return z.clamp_min(0) + 0.5 * torch.exp(-_LAPLACE_RATE * z.abs()) / _LAPLACE_RATE

    def spread_of_difference(self, one: Tensor, other: Tensor) -> Tensor:
        """Return the root of the summed squares."""
        return torch.sqrt(one * one + other * other)


class Cauchy:
    """The Cauchy distribution. Differences are Cauchy too; the expected excess is infinite, its growth is not."""

    name = "cauchy"

    def cdf(self, z: Tensor) -> Tensor:
        """Return ``P(Z <= z)``, without cancellation in the left tail."""
        return torch.atan2(torch.full_like(z, QUARTILE), -z) / math.pi

    def log_cdf(self, z: Tensor) -> Tensor:
        """Return ``log P(Z <= z)``."""
        return torch.log(self.cdf(z))

    def density(self, z: Tensor) -> Tensor:
        """Return the density."""
        return QUARTILE / (math.pi * (QUARTILE * QUARTILE + z * z))

    def primitive(self, z: Tensor) -> Tensor:
        """Return ``z F(z) - (q / 2 pi) log(1 + z^2 / q^2)``, which falls without end, but slowly, to the left."""
        return z * self.cdf(z) - QUARTILE / (2 * math.pi) * torch.log1p((z / QUARTILE) ** 2)

    def spread_of_difference(self, one: Tensor, other: Tensor) -> Tensor:
        """Return the sum: exact."""
        return one + other


GAUSSIAN = Gaussian()
#: Families by name.
FAMILIES: dict[str, Family] = {f.name: f for f in (GAUSSIAN, Logistic(), Laplace(), Cauchy())}


def family_named(name: str) -> Family:
    """Return a family by its name; `SolverError` lists the names.

    Examples
    --------
    >>> family_named("laplace").cdf(torch.tensor([QUARTILE])).item()
    0.75
    """
    if not isinstance(name, str) or name not in FAMILIES:
        raise SolverError(f"family must be one of {', '.join(FAMILIES)}, got {short(name)}")
    return FAMILIES[name]


def step_share(family: Family, mu: Tensor, sigma: Tensor, d: Tensor) -> Tensor:
    """Return the probability that a start of the family is rounded to step d, on the nearer tail.

    Parameters
    ----------
    family : Family
    mu, sigma, d : tensors that broadcast, steps; sigma > 0
    """
    distance = torch.abs(d - mu)
    return family.cdf((0.5 - distance) / sigma) - family.cdf((-0.5 - distance) / sigma)
