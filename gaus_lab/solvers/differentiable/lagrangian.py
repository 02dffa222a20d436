"""The augmented Lagrangian for inequalities ``g <= 0``, one multiplier each."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def inequality_term(multiplier: Tensor, value: Tensor, rho: float | Tensor) -> Tensor:
    """Return ``(max(0, lambda + rho g)^2 - lambda^2) / (2 rho)``, elementwise; ``lambda g`` where rho is 0.

    For ``g >= 0`` this is ``lambda g + rho / 2 g^2``. It is evaluated without dividing by rho, so that a small rho
    loses nothing: with ``h = max(g, -lambda / rho)`` it is ``lambda h + rho / 2 h^2``.

    Parameters
    ----------
    multiplier : tensor >= 0
    value : tensor of the same shape, the amount of the violation (negative: slack)
    rho : float >= 0

    References
    ----------
    Nocedal, Wright, "Numerical Optimization", 2nd ed., eq. 17.65.

    Examples
    --------
    >>> inequality_term(torch.tensor([3.0, 3.0]), torch.tensor([0.5, -2.0]), 2.0).tolist()
    [1.75, -2.25]
    """
    rho = torch.as_tensor(rho, dtype=value.dtype, device=value.device)
    floor = torch.where(rho > 0, -multiplier / rho.clamp_min(torch.finfo(value.dtype).tiny), -torch.inf)
    excess = torch.maximum(value, floor)
    return multiplier * excess + 0.5 * rho * excess * excess


@dataclass
class Multipliers:
    """Multipliers and penalty of one family of inequalities, updated between bursts of gradient steps.

    Parameters
    ----------
    value : tensor of shape (n_constraints,), >= 0
    rho : float tensor, the penalty
    growth : float >= 1
        Factor on rho where the violation has not fallen to `required` of what it was.
    required : float
    limit : float
        Largest rho.
    """

    value: Tensor
    rho: Tensor
    growth: float = 1.5
    required: float = 0.9
    limit: float = 1e6

    def __post_init__(self) -> None:
        self._last = torch.full((), torch.inf, dtype=self.value.dtype, device=self.value.device)

    def term(self, violation: Tensor) -> Tensor:
        """Return the summed Lagrangian term, a scalar."""
        return inequality_term(self.value, violation, self.rho).sum()

    def update(self, violation: Tensor) -> None:
        """Apply ``lambda <- max(0, lambda + rho V)``, and grow rho where V does not fall; no host synchronisation.

        References
        ----------
        Nocedal, Wright, "Numerical Optimization", 2nd ed., algorithm 17.4.
        """
        violation = violation.detach()
        self.value = torch.clamp_min(self.value + self.rho * violation, 0)
        size = violation.clamp_min(0).sum()
        grown = torch.clamp_max(self.rho * self.growth, self.limit)
        self.rho = torch.where(size > self.required * self._last, grown, self.rho)
        self._last = size
