"""Expected twins of the exact quantities, as functions of (mu, sigma); they tend to them as sigma -> 0."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.graph import Graph
from gaus_lab.solvers.differentiable.gaussian import expected_excess, step_probability

_DENSITY_AT_0 = 1 / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class EdgeTensors:
    """The dependences that count, on a device: ``src``, ``dst`` (m,) as indices, ``lag`` (m,) in steps."""

    src: Tensor
    dst: Tensor
    lag: Tensor

    @classmethod
    def of_graph(cls, graph: Graph, device: torch.device, dtype: torch.dtype = torch.float32) -> EdgeTensors:
        """Return the edges of distance 0."""
        keep = np.flatnonzero(graph.distance == 0)
        src, dst, lag = (
            torch.as_tensor(a[keep].copy(), device=device) for a in (graph.src, graph.dst, graph.lag)
        )
        return cls(src, dst, lag.to(dtype))


def communication_slope(graph: Graph) -> NDArray[np.int64]:
    """Return by how much communication grows when an operation starts a step later, shape (n_ops,).

    Communication is linear in the starts, so its expectation is the exact formula at mu: its own twin.
    """
    keep = np.flatnonzero(graph.distance == 0)
    slope = np.zeros(graph.n_ops, dtype=np.int64)
    np.add.at(slope, graph.dst[keep], graph.cost[keep])
    np.subtract.at(slope, graph.src[keep], graph.cost[keep])
    return slope


def peak_usage(usage: Tensor, tau: float | Tensor) -> Tensor:
    """Return the smooth peak of each resource, ``tau * logsumexp(usage / tau)``, shape (n_resources,), units.

    It exceeds the largest expectation by at most ``tau * log(steps)``. The largest expectation in turn lies below
    the expected largest usage as long as sigma is large: the smooth peak is optimistic then.

    Parameters
    ----------
    usage : tensor of shape (n_resources, steps), units
    tau : float > 0, or tensor of shape (n_resources, 1), units

    Examples
    --------
    >>> peak_usage(torch.tensor([[1.0, 3.0]]), 0.01).tolist()
    [3.0]
    """
    tau = torch.as_tensor(tau, dtype=usage.dtype, device=usage.device)
    return tau.reshape(-1) * torch.logsumexp(usage / tau, dim=1)


def precedence(mu: Tensor, sigma: Tensor, edges: EdgeTensors) -> Tensor:
    """Return the expected violation of each edge, ``E[max(0, X_u + lag - X_v)]``, shape (m,), steps.

    Closed form for independent Gaussians (`expected_excess`): O(edges), with a gradient even as sigma -> 0.
    """
    mean = mu[edges.src] + edges.lag - mu[edges.dst]
    variance = sigma * sigma
    return expected_excess(mean, torch.sqrt(variance[edges.src] + variance[edges.dst]))


def precedence_excess(mu: Tensor, sigma: Tensor, edges: EdgeTensors) -> Tensor:
    """Return the expected violation of each edge less its value on a tight edge; shape (m,), steps.

    With m and s mean and deviation of ``X_u + lag - X_v`` this is ``m F(m / s) + s f(m / s) - s f(0)``: 0 where the
    means meet the dependence exactly, negative with slack, and ``max(0, m)`` as sigma -> 0. The expected violation
    itself is positive everywhere, so its multipliers can only rise; with this constraint they fall again on
    slack edges, and settle at the prices of the linear program behind the communication.
    """
    mean = mu[edges.src] + edges.lag - mu[edges.dst]
    variance = sigma * sigma
    deviation = torch.sqrt(variance[edges.src] + variance[edges.dst])
    return expected_excess(mean, deviation) - deviation * _DENSITY_AT_0


def precedence_by_pairs(mu: Tensor, sigma: Tensor, edges: EdgeTensors, horizon: int) -> Tensor:
    """Return the probability that each edge is broken, summed over pairs of steps; shape (m,).

    ``sum over d_u, d_v of P_u(d_u) P_v(d_v) [d_u + lag > d_v]`` over the steps of the horizon. Cost m x horizon:
    for teaching and comparison. As printed in the paper (eq. 8b) the sum leaves out equal steps, which suits
    latency 0 only; here the latency comes from the edge.

    References
    ----------
    Cai et al., arXiv 2602.20427, eq. 8b and 24.
    """
    steps = torch.arange(horizon, device=mu.device, dtype=mu.dtype)
    share = step_probability(mu[:, None], sigma[:, None], steps)
    before = torch.cat([torch.zeros_like(share[:, :1]), share.cumsum(1)], dim=1)
    # The consumer starts too early if d_v <= d_u + lag - 1: column min(d_u + lag, horizon) of `before`.
    column = (steps + edges.lag[:, None]).clamp(0, horizon).long()
    return (share[edges.src] * before[edges.dst].gather(1, column)).sum(1)


def liveness(mu: Tensor, sigma: Tensor, graph: Graph, horizon: int, hold_outputs: bool = False) -> Tensor:
    """Return the expected live bits on each boundary of a straight line, shape (horizon,).

    ``sum over values of bits * F_u(d - born) * (1 - prod over consumers F_v(d))`` with F_i(d) the probability that
    operation i has started by step d, and ``born = max(latency - 1, 0)``. Cost (operations + edges) x horizon: for
    teaching and comparison; the solver uses `lifetimes.LifetimeWindows`.

    References
    ----------
    Cai et al., arXiv 2602.20427, the expected liveness of formulation B.
    """
    boundary = torch.arange(horizon, device=mu.device, dtype=mu.dtype) + 0.5
    born = torch.as_tensor(np.maximum(graph.latency - 1, 0), device=mu.device, dtype=mu.dtype)
    started = torch.special.ndtr((boundary - mu[:, None]) / sigma[:, None])
    alive = torch.special.ndtr((boundary - (mu + born)[:, None]) / sigma[:, None])
    keep = graph.distance == 0
    pairs = np.unique(np.column_stack([graph.src[keep], graph.dst[keep]]), axis=0)
    src, dst = (torch.as_tensor(column.copy(), device=mu.device) for column in pairs.T)
    log_started = torch.log(started[dst].clamp_min(torch.finfo(mu.dtype).tiny))
    over = torch.exp(torch.zeros_like(started).index_add(0, src, log_started))
    # Over from the start without consumers, as the empty product says; or never, if outputs are held.
    if hold_outputs:
        kept = np.bincount(pairs[:, 0], minlength=graph.n_ops) == 0
        over = over * torch.as_tensor(~kept, device=mu.device)[:, None]
    bits = torch.as_tensor(graph.bits.astype(np.float64), device=mu.device, dtype=mu.dtype)
    live: Tensor = (bits[:, None] * alive * (1 - over)).sum(0)
    return live
