"""What the categorical relaxation trains on: a loss of drawn starts, and its gradient by the one-hot starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.problem import FootprintProblem, Problem, ResourceProblem
from gaus_lab.solvers.differentiable.categorical import latest, latest_of_others, pieces, unique_edges

IntArray = NDArray[np.int64]

#: Smallest share of the weight whose logarithm is taken: an empty stage has a finite pull.
SMALLEST_SHARE = 1e-6
#: Temperature of the smooth footprint as a share of the mean liveness.
SHARPNESS = 0.05
#: Weight of the squared liveness beside its peak: boundaries below the peak feel something too.
SQUARE_SHARE = 0.01


class Judgement(NamedTuple):
    """Loss and objective of the drawn starts of each replica; float64 tensors of shape (batch,).

    The objective only ranks replicas: numbers beyond 2**53 are rounded. The exact one is the run's business.
    """

    loss: Tensor
    objective: Tensor


class DrawLoss(Protocol):
    """What training needs of a loss."""

    def __call__(self, starts: Tensor, grad: Tensor) -> Judgement:
        """Return the judgement of starts, and write the gradient of the summed loss into `grad`."""


def draw_loss(problem: Problem, order: IntArray, n_stages: int, device: torch.device) -> DrawLoss:
    """Return the loss of a problem, for tensors whose rows are the operations of `order`."""
    if isinstance(problem, FootprintProblem):
        return FootprintLoss(problem, order, n_stages, device)
    assert isinstance(problem, ResourceProblem)
    return ResourceLoss(problem, order, n_stages, device)


def _places(order: IntArray) -> IntArray:
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place


def _profile(begin: Tensor, end: Tensor, amount: Tensor, row: Tensor, shape: tuple[int, int, int]) -> Tensor:
    """Return sums of amounts over [begin, end), shape (rows, batch, steps), float64.

    Parameters
    ----------
    begin, end : int tensors of shape (k, batch), steps
    amount : float64 tensor of shape (k,)
    row : int tensor of shape (k,)
    shape : of the result
    """
    rows, batch, steps = shape
    changes = torch.zeros(rows * batch * (steps + 1), dtype=torch.float64, device=begin.device)
    cell = (row[:, None] * batch + torch.arange(batch, device=begin.device)) * (steps + 1)
    amounts = amount[:, None].expand_as(begin).reshape(-1)
    changes.index_add_(0, (cell + begin).reshape(-1), amounts)
    changes.index_add_(0, (cell + end).reshape(-1), amounts, alpha=-1)
    return changes.view(rows, batch, steps + 1).cumsum(-1)[..., :-1]


def _sums(slope: Tensor) -> Tensor:
    """Return the sums of the first 0, 1, .. entries along the last axis."""
    return torch.nn.functional.pad(slope.cumsum(-1), (1, 0))


def _on(device: torch.device) -> Callable[[NDArray[np.generic]], Tensor]:
    """Return the function that puts an array on a device."""
    return lambda values: torch.as_tensor(np.ascontiguousarray(values), device=device)


class ResourceLoss:
    """Crossing edges and the negative entropy of usage, the loss of the published method (formulation A).

    ``communication_weight * share of crossing edges + sum over resources of resource_weight * sum_d p_d log p_d`` with
    p_d the share of the resource's work in stage d. It never sees the peak. With one resource of weight ``ratio`` and
    communication weight 1 this is the published loss.

    Extended where the published method says nothing: shares of edges are weighted by cost; an edge crosses if its
    consumer starts later than the lag demands; an operation counts in every stage of its occupancy.

    Parameters
    ----------
    problem : ResourceProblem
    order : int array of shape (n_ops,)
        Operation in each row.
    n_stages : int
    device : of the starts
    """

    def __init__(
        self, problem: ResourceProblem, order: IntArray, n_stages: int, device: torch.device
    ) -> None:
        graph, weights = problem.graph, problem.resource_weights
        assert isinstance(weights, Mapping) and problem.communication_weight is not None
        self._communication = float(problem.communication_weight)
        tensor = _on(device)
        self._prices = tensor(np.array([weights.get(r, 0) for r in graph.resources], dtype=np.float64))
        self._weight = tensor(graph.weight[order].astype(np.float64))
        self._resource = tensor(graph.resource_index[order])
        self._occupancy = tensor(graph.occupancy[order])
        self._n_stages, self._steps = n_stages, n_stages + int(graph.occupancy.max(initial=1)) - 1
        work = torch.zeros_like(self._prices).index_add_(0, self._resource, self._weight * self._occupancy)
        self._work = work.clamp_min(1.0)  # a resource without work has usage 0 in every stage
        # Rows of the table of gradients: one for each resource and occupancy that occur together.
        both = np.stack([graph.resource_index[order], graph.occupancy[order]])
        kinds, kind = np.unique(both, axis=1, return_inverse=True)
        self._kinds, self._kind = kinds.T.tolist(), tensor(kind.reshape(-1))
        keep, place = np.flatnonzero(graph.distance == 0), _places(order)
        self._src, self._dst = tensor(place[graph.src[keep]]), tensor(place[graph.dst[keep]])
        self._lag, self._cost = (tensor(graph.lag[keep]), tensor(graph.cost[keep].astype(np.float64)))
        self._share = self._cost / self._cost.sum().clamp_min(1.0)

    def __call__(self, starts: Tensor, grad: Tensor) -> Judgement:
        """Return the judgement of starts, and write the gradient of the summed loss into `grad`."""
        shape = (len(self._prices), starts.shape[1], self._steps)
        usage = _profile(starts, starts + self._occupancy[:, None], self._weight, self._resource, shape)
        share = usage / self._work[:, None, None]
        logarithm = share.clamp_min(SMALLEST_SHARE).log_()
        order = ((share * logarithm).sum(-1) * self._prices[:, None]).sum(0)
        slope = (logarithm + 1.0) * (self._prices / self._work)[:, None, None]
        self._write_usage(slope, grad)
        crossing = self._add_crossing(starts, grad)
        waits = ((starts[self._dst] - starts[self._src]) * self._cost[:, None]).sum(0)
        peaks = (usage.amax(-1) * self._prices[:, None]).sum(0)
        return Judgement(self._communication * crossing + order, peaks + self._communication * waits)

    def _write_usage(self, slope: Tensor, grad: Tensor) -> None:
        """Overwrite `grad` with the gradient through usage; `slope` is the gradient by usage."""
        sums, stages = _sums(slope), self._n_stages
        rows = [sums[r, :, o : o + stages] - sums[r, :, :stages] for r, o in self._kinds]
        if rows:
            torch.index_select(torch.stack(rows).to(grad.dtype), 0, self._kind, out=grad)
            grad *= self._weight.to(grad.dtype)[:, None, None]

    def _add_crossing(self, starts: Tensor, grad: Tensor) -> Tensor:
        """Return the share of crossing edges by replica; add its gradient, weighted, to `grad`."""
        if not len(self._src):
            return starts.new_zeros(starts.shape[1], dtype=torch.float64)
        wished = starts[self._dst] - self._lag[:, None]  # where the producer would meet its consumer
        earliest = starts[self._src] + self._lag[:, None]
        pull = (-self._communication * self._share).to(grad.dtype)[:, None].expand_as(wished).reshape(-1)
        cells, replicas = grad.view(-1), torch.arange(starts.shape[1], device=starts.device)
        for op, stage in ((self._src, wished), (self._dst, earliest)):
            row = (op[:, None] * starts.shape[1] + replicas) * self._n_stages
            cells.index_add_(0, (row + stage).reshape(-1), pull)
        return ((wished != starts[self._src]) * self._share[:, None]).sum(0)


class FootprintLoss:
    """The smooth peak of live bits as a share of all bits (formulation B), our extension.

    With one-hot starts the expected liveness ``F_u(d) * (1 - prod over consumers F_v(d))`` is the exact one; its
    gradient by the one-hot starts exists all the same. A small share of the squares is added.

    Parameters
    ----------
    problem : FootprintProblem
    order : int array of shape (n_ops,)
        Operation in each row.
    n_stages : int
    device : of the starts
    """

    def __init__(
        self, problem: FootprintProblem, order: IntArray, n_stages: int, device: torch.device
    ) -> None:
        graph, place = problem.graph, _places(order)
        tensor = _on(device)
        producer, consumer, _ = unique_edges(graph)
        self._producer, self._consumer = tensor(place[producer]), tensor(place[consumer])
        used = np.zeros(graph.n_ops, dtype=bool)
        used[place[producer]] = True
        self._born = tensor(np.maximum(graph.latency[order] - 1, 0))
        self._n_stages, self._steps = n_stages, n_stages + max(int(graph.latency.max(initial=0)) - 1, 0)
        # No birth lies behind these steps, so a value held to a later horizon adds nothing new.
        horizon = self._steps if problem.horizon is None else min(problem.horizon, self._steps)
        self._held = tensor(np.where(used, 0, horizon))
        counts = used | problem.hold_outputs
        self._bits = tensor(np.where(counts, graph.bits[order], 0).astype(np.float64))
        self._total = max(float(self._bits.sum()), 1.0)

    def __call__(self, starts: Tensor, grad: Tensor) -> Judgement:
        """Return the judgement of starts, and write the gradient of the summed loss into `grad`."""
        born = starts + self._born[:, None]
        uses = starts[self._consumer]
        ends = torch.maximum(latest(uses, self._producer, len(starts)), self._held[:, None])
        shape = (1, starts.shape[1], self._steps)
        live = _profile(born, torch.maximum(ends, born), self._bits, torch.zeros_like(self._born), shape)[0]
        even = live.mean(-1, keepdim=True).clamp_min(1e-6)
        peak = SHARPNESS * even * torch.logsumexp(live / (SHARPNESS * even), -1, keepdim=True)
        square = SQUARE_SHARE * (live * live).sum(-1, keepdim=True) / (2 * even)
        slope = torch.softmax(live / (SHARPNESS * even), -1) + SQUARE_SHARE * live / even
        sums = _sums(slope / self._total)
        self._write_births(sums, ends, grad)
        self._add_uses(sums, born, uses, grad)
        return Judgement(((peak + square) / self._total)[:, 0], live.amax(-1))

    def _write_births(self, sums: Tensor, ends: Tensor, grad: Tensor) -> None:
        """Overwrite `grad` with the gradient of producers: live from the birth on, up to the last use."""
        stages = torch.arange(self._n_stages, device=grad.device)
        batch = grad.shape[1]
        for part in pieces(len(grad), batch * self._n_stages):
            first = (stages + self._born[part, None, None]).expand(-1, batch, -1)
            last = torch.maximum(first, ends[part, :, None])
            table = sums.expand(len(first), -1, -1)
            value = table.gather(-1, last) - table.gather(-1, first)
            grad[part] = value * self._bits[part, None, None]

    def _add_uses(self, sums: Tensor, born: Tensor, uses: Tensor, grad: Tensor) -> None:
        """Add the gradient of consumers: a use at stage d ends the value there, if no other use is later."""
        stages = torch.arange(self._n_stages, device=grad.device)
        others = latest_of_others(uses, self._producer, latest(uses, self._producer, len(born)))
        since = torch.maximum(others, born[self._producer])
        for part in pieces(len(since), grad.shape[1] * self._n_stages):
            first = torch.maximum(stages, since[part, :, None])
            freed = sums[:, -1:] - sums.expand(len(first), -1, -1).gather(-1, first)
            amount = freed * self._bits[self._producer[part], None, None]
            grad.index_add_(0, self._consumer[part], amount.to(grad.dtype), alpha=-1)
