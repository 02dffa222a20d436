"""`State`: everything that GauS changes while it runs, on one device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.solvers.differentiable.adam import Adam
from gaus_lab.solvers.differentiable.lagrangian import Multipliers
from gaus_lab.solvers.differentiable.legal_candidates import Candidates
from gaus_lab.solvers.differentiable.objective import ExpectedObjective
from gaus_lab.solvers.differentiable.terms import EdgeTensors
from gaus_lab.solvers.differentiable.usage import ExpectedOveruse

IntArray = NDArray[np.int64]


@dataclass
class State:
    """The 2n parameters, their multipliers and optimiser, and what the steps read.

    Attributes
    ----------
    mu : tensor of shape (n_ops,), steps
        Mean start of each operation, within [ASAP, ALAP].
    spread : tensor of shape (n_ops,)
        ``sigma = sigma_cap * sigmoid(spread)``: the deviation is learned below a cap that is annealed.
    sigma_cap : tensor of shape (n_ops,), steps
    multipliers : Multipliers
        One for each edge that counts.
    overuse : ExpectedOveruse or None
        By how much limits are exceeded; None without limits.
    prices : Multipliers
        One for each limited resource and step or slot.
    round, step, length : int
        Number of the round, of the step within it, and of steps planned for it.
    widest, first_rate : float, steps
        Cap on sigma and learning rate at the begin of the round.
    """

    early: IntArray
    late: IntArray
    earliest: Tensor
    latest: Tensor
    edges: EdgeTensors
    objective: ExpectedObjective
    candidates: Candidates
    rng: np.random.Generator
    mu: Tensor
    spread: Tensor
    sigma_cap: Tensor
    multipliers: Multipliers
    optimizer: Adam
    overuse: ExpectedOveruse | None
    prices: Multipliers
    round: int = 0
    step: int = 0
    length: int = 0
    widest: float = 0.0
    first_rate: float = 0.0

    @property
    def sigma(self) -> Tensor:
        """Deviation of each start, shape (n_ops,), steps."""
        return self.sigma_cap * torch.sigmoid(self.spread)

    def place(self, start: NDArray[np.float64]) -> None:
        """Set mu, clipped to [ASAP, ALAP], and forget the learned spread."""
        clipped = np.clip(start, self.early, self.late)
        with torch.no_grad():
            self.mu.copy_(torch.as_tensor(clipped, dtype=self.mu.dtype))
            self.spread.fill_(INITIAL_SPREAD)


#: sigmoid(3) = 0.95: sigma begins near its cap, where it still has a gradient.
INITIAL_SPREAD = 3.0
