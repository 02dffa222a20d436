"""The expected objective of a problem as a function of (mu, sigma), put together from its terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.problem import FootprintProblem, ModuloProblem, Problem, ResourceProblem
from gaus_lab.solvers.differentiable.families import GAUSSIAN, Family
from gaus_lab.solvers.differentiable.lifetimes import LifetimeWindows
from gaus_lab.solvers.differentiable.terms import communication_slope, peak_usage
from gaus_lab.solvers.differentiable.usage import ExpectedUsage, fits

IntArray = NDArray[np.int64]


class ExpectedObjective(Protocol):
    """What a gradient step needs of an objective; `price` is the unit of penalties."""

    price: float

    def prepare(self, max_sigma: float) -> None:
        """Lay out what depends on the largest deviation."""

    def __call__(self, mu: Tensor, sigma: Tensor, sharpness: float) -> Tensor:
        """Return the expected objective, a scalar."""


def expected_objective(
    problem: Problem,
    early: IntArray,
    late: IntArray,
    device: torch.device,
    dtype: torch.dtype = torch.float32,
    family: Family = GAUSSIAN,
) -> ExpectedObjective:
    """Return the expected twin of a problem's objective."""
    if isinstance(problem, (FootprintProblem, ModuloProblem)):
        return ExpectedFootprint(problem, early, late, device, dtype, family)
    if isinstance(problem, ResourceProblem):
        return ExpectedResourceObjective(problem, early, late, device, dtype, family)
    return ExpectedMakespan(problem, device, dtype)


class ExpectedResourceObjective:
    """Weighted smooth peak usage plus weighted expected communication (formulation A).

    Parameters
    ----------
    problem : ResourceProblem
    early, late : int arrays of shape (n_ops,), steps
        The window of each start.
    device, dtype : of the tensors
    family : Family

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
        family: Family = GAUSSIAN,
    ) -> None:
        graph, weights = problem.graph, problem.resource_weights
        assert isinstance(weights, Mapping) and problem.communication_weight is not None
        self._device, self._dtype = device, dtype
        self.usage = ExpectedUsage(problem, early, late, device, dtype, family)
        prices = np.array([weights.get(r, 0) for r in graph.resources], dtype=np.float64)
        self._resource_weights = self._tensor(prices)
        self._slope = self._tensor(communication_slope(graph) * float(problem.communication_weight))
        work = graph.weight.astype(np.float64) * graph.occupancy
        energy = np.bincount(graph.resource_index, work, len(graph.resources))
        self._even_usage = self._tensor(np.maximum(energy / self.usage.steps, 1e-6))
        heaviest = np.bincount(graph.resource_index, graph.weight, len(graph.resources)) @ prices
        even_share = 0.05 * float(heaviest) / max(graph.n_ops, 1)
        self.price = float(problem.communication_weight) or even_share or 1.0

    def _tensor(self, values: NDArray[np.floating[Any]]) -> Tensor:
        return torch.as_tensor(values, device=self._device, dtype=self._dtype)

    def prepare(self, max_sigma: float) -> None:
        """Lay out windows for deviations up to `max_sigma`."""
        self.usage.prepare(max_sigma)

    def __call__(self, mu: Tensor, sigma: Tensor, sharpness: float) -> Tensor:
        """Return the expected objective, a scalar; the peak's tau is `sharpness` times the even usage."""
        peak = peak_usage(self.usage(mu, sigma), sharpness * self._even_usage[:, None])
        return (self._resource_weights * peak).sum() + (self._slope * mu).sum()


class ExpectedMakespan:
    """Smooth makespan, ``tau * logsumexp((mu + span) / tau)`` (formulation R).

    Parameters
    ----------
    problem : Problem
    device, dtype : of the tensors
    """

    price: float = 0.1

    def __init__(self, problem: Problem, device: torch.device, dtype: torch.dtype = torch.float32) -> None:
        self._span = torch.as_tensor(problem.graph.span.copy(), device=device, dtype=dtype)

    def prepare(self, max_sigma: float) -> None:
        """Do nothing: the makespan needs no windows."""

    def __call__(self, mu: Tensor, sigma: Tensor, sharpness: float) -> Tensor:
        """Return the expected objective, a scalar; tau is ten times the sharpness, steps."""
        return peak_usage((mu + self._span)[None], 10 * sharpness)[0]


class ExpectedFootprint:
    """Smooth peak of the expected live bits (formulations B and C).

    A peak alone gives a gradient to the operations around one boundary. A share of the squared profile, in the
    same unit, moves the others out of the way too.

    Parameters
    ----------
    problem : FootprintProblem or ModuloProblem
    early, late : int arrays of shape (n_ops,), steps
    device, dtype : of the tensors
    family : Family
    """

    def __init__(
        self,
        problem: FootprintProblem | ModuloProblem,
        early: IntArray,
        late: IntArray,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
        family: Family = GAUSSIAN,
    ) -> None:
        graph = problem.graph
        self._problem, self._early, self._late = problem, early, late
        self._device, self._dtype, self._family = device, dtype, family
        self._steps = _steps_of(problem, late)
        self.price = PRICE * float(graph.bits.mean()) if graph.n_ops else 1.0
        self.price = self.price or 1.0
        self._windows: LifetimeWindows | None = None
        self._cap = 0.0

    def prepare(self, max_sigma: float) -> None:
        """Lay out windows for deviations up to `max_sigma`; anew only where the old ones are too small or wasteful."""
        if fits(self._windows, self._cap, max_sigma):
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
            self._family,
            self._problem.interval,
        )

    def liveness(self, mu: Tensor, sigma: Tensor) -> Tensor:
        """Return expected live bits, shape (steps,), of a loop (ii,)."""
        assert self._windows is not None, "call prepare first"
        return self._windows(mu, sigma)

    def __call__(self, mu: Tensor, sigma: Tensor, sharpness: float) -> Tensor:
        """Return the expected objective, a scalar; the peak's tau is `sharpness` times the mean liveness."""
        live = self.liveness(mu, sigma)
        even = live.detach().mean().clamp_min(1e-6)
        peak = peak_usage(live[None], sharpness * even)[0]
        return peak + SPREAD_SHARE * (live * live).sum() / (2 * even)


def _steps_of(problem: Problem, late: IntArray) -> int:
    """Return the steps that values may live through; outputs of a loop are held to the horizon itself."""
    steps = int((late + problem.graph.span).max(initial=1))
    return steps if problem.interval is None else max(steps, problem.horizon or 0)


#: Unit of penalties in formulations B and C, as a share of the mean value's bits.
PRICE = 0.2
#: Weight of the squared profile beside the peak.
SPREAD_SHARE = 0.01
