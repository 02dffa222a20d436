"""The expected objective of a problem as a function of (mu, sigma), put together from its terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.problem import FootprintProblem, Problem, ResourceProblem
from gaus_lab.solvers.differentiable.lifetimes import LifetimeWindows
from gaus_lab.solvers.differentiable.terms import communication_slope, peak_usage
from gaus_lab.solvers.differentiable.windows import UsageWindows

IntArray = NDArray[np.int64]


class ExpectedObjective(Protocol):
    """What a gradient step needs of an objective; `price` is the unit of penalties."""

    price: float

    def prepare(self, max_sigma: float) -> None:
        """Lay out what depends on the largest deviation."""

    def __call__(self, mu: Tensor, sigma: Tensor, sharpness: float) -> Tensor:
        """Return the expected objective, a scalar."""


def expected_objective(
    problem: Problem, early: IntArray, late: IntArray, device: torch.device
) -> ExpectedObjective:
    """Return the expected twin of a problem's objective."""
    if isinstance(problem, FootprintProblem):
        return ExpectedFootprint(problem, early, late, device)
    assert isinstance(problem, ResourceProblem)
    return ExpectedResourceObjective(problem, early, late, device)


def _fits(old: float, new: float) -> bool:
    """Return whether windows for deviations up to `old` serve for `new` without much waste."""
    return old / 1.3 < new <= old


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
        even_share = 0.05 * float(heaviest) / max(graph.n_ops, 1)
        self.price = float(problem.communication_weight) or even_share or 1.0
        self._windows: UsageWindows | None = None
        self._cap = 0.0

    def _tensor(self, values: NDArray[np.floating[Any]]) -> Tensor:
        return torch.as_tensor(values, device=self._device, dtype=self._dtype)

    def prepare(self, max_sigma: float) -> None:
        """Lay out windows for deviations up to `max_sigma`; anew only where the old ones are too small or wasteful."""
        if self._windows is not None and _fits(self._cap, max_sigma):
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


class ExpectedFootprint:
    """Smooth peak of the expected live bits (formulation B).

    A peak alone gives a gradient to the operations around one boundary. A share of the squared profile, in the
    same unit, moves the others out of the way too.

    Parameters
    ----------
    problem : FootprintProblem
    early, late : int arrays of shape (n_ops,), steps
    device, dtype : of the tensors
    """

    def __init__(
        self,
        problem: FootprintProblem,
        early: IntArray,
        late: IntArray,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        graph = problem.graph
        self._problem, self._early, self._late = problem, early, late
        self._device, self._dtype = device, dtype
        self._steps = int((late + graph.span).max(initial=1))
        self.price = PRICE * float(graph.bits.mean()) if graph.n_ops else 1.0
        self.price = self.price or 1.0
        self._windows: LifetimeWindows | None = None
        self._cap = 0.0

    def prepare(self, max_sigma: float) -> None:
        """Lay out windows for deviations up to `max_sigma`; anew only where the old ones are too small or wasteful."""
        if self._windows is not None and _fits(self._cap, max_sigma):
            return
        self._cap = max_sigma
        self._windows = LifetimeWindows(
            self._problem.graph,
            self._early,
            self._late,
            self._steps,
            self._problem.hold_outputs,
            max_sigma,
            self._device,
            self._dtype,
        )

    def liveness(self, mu: Tensor, sigma: Tensor) -> Tensor:
        """Return expected live bits, shape (steps,)."""
        assert self._windows is not None, "call prepare first"
        return self._windows(mu, sigma)

    def __call__(self, mu: Tensor, sigma: Tensor, sharpness: float) -> Tensor:
        """Return the expected objective, a scalar; the peak's tau is `sharpness` times the mean liveness."""
        live = self.liveness(mu, sigma)
        even = live.detach().mean().clamp_min(1e-6)
        peak = peak_usage(live[None], sharpness * even)[0]
        return peak + SPREAD_SHARE * (live * live).sum() / (2 * even)


#: Unit of penalties in formulation B, as a share of the mean value's bits.
PRICE = 0.2
#: Weight of the squared profile beside the peak.
SPREAD_SHARE = 0.01
