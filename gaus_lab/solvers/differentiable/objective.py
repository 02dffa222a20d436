"""The expected objective of a problem as a function of (mu, sigma), put together from its terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.problem import ResourceProblem
from gaus_lab.solvers.differentiable.terms import communication_slope, peak_usage
from gaus_lab.solvers.differentiable.windows import UsageWindows

IntArray = NDArray[np.int64]


class ExpectedResourceObjective:
    """Weighted smooth peak usage plus weighted expected communication (formulation A).

    Parameters
    ----------
    problem : ResourceProblem
    early, late : int arrays of shape (n_ops,), steps
        The window of each start.
    device, dtype : of the tensors

    Attributes
    ----------
    price : float
        Typical change of the objective when an operation moves by a step: the unit of penalties.
    """

    def __init__(
        self,
        problem: ResourceProblem,
        early: IntArray,
        late: IntArray,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        graph, weights = problem.graph, problem.resource_weights
        assert isinstance(weights, Mapping) and problem.communication_weight is not None
        self._problem, self._early, self._late = problem, early, late
        self._device, self._dtype = device, dtype
        self._steps = int((late + graph.span).max(initial=1))
        prices = np.array([weights.get(r, 0) for r in graph.resources], dtype=np.float64)
        self._resource_weights = self._tensor(prices)
        self._slope = self._tensor(communication_slope(graph) * float(problem.communication_weight))
        work = graph.weight.astype(np.float64) * graph.occupancy
        energy = np.bincount(graph.resource_index, work, len(graph.resources))
        self._even_usage = self._tensor(np.maximum(energy / self._steps, 1e-6))
        heaviest = np.bincount(graph.resource_index, graph.weight, len(graph.resources)) @ prices
        self.price = float(problem.communication_weight) or 0.05 * heaviest / max(graph.n_ops, 1) or 1.0
        self._windows: UsageWindows | None = None
        self._cap = 0.0

    def _tensor(self, values: NDArray[np.floating[Any]]) -> Tensor:
        return torch.as_tensor(values, device=self._device, dtype=self._dtype)

    def prepare(self, max_sigma: float) -> None:
        """Lay out windows for deviations up to `max_sigma`; anew only where the old ones are too small or wasteful."""
        if self._windows is not None and self._cap / 1.3 < max_sigma <= self._cap:
            return
        graph, self._cap = self._problem.graph, max_sigma
        self._windows = UsageWindows(
            self._early,
            self._late,
            graph.occupancy,
            graph.weight,
            graph.resource_index,
            len(graph.resources),
            self._steps,
            max_sigma,
            self._device,
            self._dtype,
        )

    def usage(self, mu: Tensor, sigma: Tensor) -> Tensor:
        """Return expected usage, shape (n_resources, steps), units."""
        assert self._windows is not None, "call prepare first"
        return self._windows(mu, sigma)

    def __call__(self, mu: Tensor, sigma: Tensor, sharpness: float) -> Tensor:
        """Return the expected objective, a scalar; the peak's tau is `sharpness` times the even usage."""
        peak = peak_usage(self.usage(mu, sigma), sharpness * self._even_usage[:, None])
        return (self._resource_weights * peak).sum() + (self._slope * mu).sum()
