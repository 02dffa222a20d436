"""Expected usage of resources over steps or slots, and by how much it exceeds the limits."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.problem import Problem
from gaus_lab.solvers.differentiable.families import GAUSSIAN, Family
from gaus_lab.solvers.differentiable.terms import folded
from gaus_lab.solvers.differentiable.windows import UsageWindows

IntArray = NDArray[np.int64]


class Windows(Protocol):
    """Windows that may be laid out for a largest deviation."""

    adapts: bool


def fits(windows: Windows | None, old: float, new: float) -> bool:
    """Return whether windows for deviations up to `old` serve for `new` without much waste."""
    return windows is not None and (windows.adapts or old / 1.3 < new <= old)


class ExpectedUsage:
    """Expected usage, shape (n_resources, steps), or (n_resources, ii) where iterations overlap; units.

    Parameters
    ----------
    problem : Problem
    early, late : int arrays of shape (n_ops,), steps
        The window of each start.
    device, dtype : of the tensors
    family : Family
    """

    def __init__(
        self,
        problem: Problem,
        early: IntArray,
        late: IntArray,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
        family: Family = GAUSSIAN,
    ) -> None:
        graph, self._ii = problem.graph, problem.interval
        self.steps = int((late + graph.span).max(initial=1))
        # Whole turns of the slots are a constant; only what is left of an occupancy is laid out.
        turns = np.zeros_like(graph.occupancy) if self._ii is None else graph.occupancy // self._ii
        self._occupancy = graph.occupancy - turns * (self._ii or 0)
        whole = np.bincount(
            graph.resource_index, graph.weight * turns.astype(np.float64), len(graph.resources)
        )
        self._every_slot = torch.as_tensor(whole, device=device, dtype=dtype)[:, None]
        self._graph, self._early, self._late = graph, early, late
        self._device, self._dtype, self._family = device, dtype, family
        self._windows: UsageWindows | None = None
        self._cap = 0.0

    def prepare(self, max_sigma: float) -> None:
        """Lay out windows for deviations up to `max_sigma`; anew only where the old are too small or wasteful."""
        if fits(self._windows, self._cap, max_sigma):
            return
        graph, self._cap = self._graph, max_sigma
        self._windows = UsageWindows(
            self._early,
            self._late,
            self._occupancy,
            graph.weight,
            graph.resource_index,
            len(graph.resources),
            self.steps,
            max_sigma,
            self._device,
            self._dtype,
            self._family,
        )

    def __call__(self, mu: Tensor, sigma: Tensor) -> Tensor:
        """Return the expected usage."""
        assert self._windows is not None, "call prepare first"
        usage = self._windows(mu, sigma)
        return usage if self._ii is None else folded(usage, self._ii) + self._every_slot


class ExpectedOveruse:
    """Expected usage less the limit, of each limited resource in each step or slot, in mean weights of its operations.

    Parameters
    ----------
    problem : Problem
        With limits.
    usage : ExpectedUsage
    device, dtype : of the tensors
    """

    def __init__(
        self, problem: Problem, usage: ExpectedUsage, device: torch.device, dtype: torch.dtype = torch.float32
    ) -> None:
        assert problem.limits
        self.usage = usage
        graph = problem.graph
        rows = [r for r, name in enumerate(graph.resources) if name in problem.limits]
        units = [float(problem.limits[graph.resources[r]]) for r in rows]
        weights = [float(np.mean(graph.weight[graph.resource_index == r])) or 1.0 for r in rows]
        self._rows = torch.as_tensor(rows, device=device)
        self._units = torch.as_tensor(units, device=device, dtype=dtype)[:, None]
        self._weights = torch.as_tensor(weights, device=device, dtype=dtype)[:, None]

    def prepare(self, max_sigma: float) -> None:
        """As `ExpectedUsage.prepare`."""
        self.usage.prepare(max_sigma)

    def __call__(self, mu: Tensor, sigma: Tensor) -> Tensor:
        """Return the amounts, shape (n_limited, cells); negative where there is room."""
        return (self.usage(mu, sigma)[self._rows] - self._units) / self._weights
