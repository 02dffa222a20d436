"""Expected twins of the exact quantities, as functions of (mu, sigma); they tend to them as sigma -> 0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.exact import product
from gaus_lab.graph import Graph
from gaus_lab.solvers.differentiable import compiled
from gaus_lab.solvers.differentiable.families import GAUSSIAN, Family, step_share

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class EdgeTensors:
    """The dependences that count, on a device: ``src``, ``dst`` (m,) as indices, ``lag`` (m,) in steps.

    `lag` is less ``distance * ii``, so it may be negative.
    """

    src: Tensor
    dst: Tensor
    lag: Tensor

    @classmethod
    def of_graph(
        cls,
        graph: Graph,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
        ii: int | None = None,
        reach: int | None = None,
    ) -> EdgeTensors:
        """Return the edges of distance 0; with an initiation interval those of any distance between two operations.

        Parameters
        ----------
        graph : Graph
        device, dtype : of the tensors
        ii : int, steps, optional
        reach : int, steps, optional
            Edges that hold between any two starts less than this far apart are left out.
        """
        keep, lag = counting_edges(graph, ii, reach)
        src, dst = (torch.as_tensor(a[keep].copy(), device=device) for a in (graph.src, graph.dst))
        return cls(src, dst, torch.as_tensor(lag, device=device).to(dtype))

    @cached_property
    def table(self) -> compiled.Columns:
        """The edges as compiled loops read them."""
        return compiled.columns(*(a.numpy() for a in (self.src, self.dst, self.lag)))


def counting_edges(graph: Graph, ii: int | None, reach: int | None = None) -> tuple[IntArray, IntArray]:
    """Return the edges that constrain starts, as indices, and their lags less ``distance * ii``."""
    if ii is None:
        keep = np.flatnonzero(graph.distance == 0)
        return keep, graph.lag[keep]
    lag = graph.lag - product(graph.distance, ii)
    kept = graph.src != graph.dst
    if reach is not None:
        kept &= lag > -reach
    keep = np.flatnonzero(kept)
    return keep, lag[keep].astype(np.int64)


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


def precedence(mu: Tensor, sigma: Tensor, edges: EdgeTensors, family: Family = GAUSSIAN) -> Tensor:
    """Return the expected violation of each edge, ``E[max(0, X_u + lag - X_v)]``, shape (m,), steps.

    Closed form, ``s A(m / s)`` with m and s mean and sigma of the difference and A the family's primitive: O(edges),
    with a gradient even as sigma -> 0. Exact for Gaussians, near for logistic and Laplace starts. For Cauchy starts
    the expectation is infinite, and this is its growth: use `precedence_excess`.
    """
    mean, deviation = _difference(mu, sigma, edges, family)
    return deviation * family.primitive(mean / deviation)


def precedence_excess(mu: Tensor, sigma: Tensor, edges: EdgeTensors, family: Family = GAUSSIAN) -> Tensor:
    """Return the expected violation of each edge less its value on a tight edge; shape (m,), steps.

    ``s A(m / s) - s A(0)``, for Gaussians ``m F(m / s) + s f(m / s) - s f(0)``: 0 where the means meet the dependence
    exactly, negative with slack, and ``max(0, m)`` as sigma -> 0. The expected violation itself is positive
    everywhere, so its multipliers can only rise; with this constraint they fall again on slack edges, and settle at
    the prices of the linear program behind the communication.
    """
    if compiled.applies(mu.device, mu.dtype, family):
        return compiled.PrecedenceExcess.apply(mu, sigma, edges.table)  # type: ignore[no-any-return]
    mean, deviation = _difference(mu, sigma, edges, family)
    return deviation * (family.primitive(mean / deviation) - family.primitive(mean.new_zeros(())))


def _difference(mu: Tensor, sigma: Tensor, edges: EdgeTensors, family: Family) -> tuple[Tensor, Tensor]:
    """Return mean and sigma of ``X_u + lag - X_v`` for each edge."""
    mean = mu[edges.src] + edges.lag - mu[edges.dst]
    return mean, family.spread_of_difference(sigma[edges.src], sigma[edges.dst])


def precedence_by_pairs(
    mu: Tensor, sigma: Tensor, edges: EdgeTensors, horizon: int, family: Family = GAUSSIAN
) -> Tensor:
    """Return the probability that each edge is broken, summed over pairs of steps; shape (m,).

    ``sum over d_u, d_v of P_u(d_u) P_v(d_v) [d_u + lag > d_v]`` over the steps of the horizon. Cost (n + m) x horizon:
    for teaching and comparison. As printed in the paper (eq. 8b) the sum leaves out equal steps, which suits
    latency 0 only; here the latency comes from the edge.

    References
    ----------
    Cai et al., arXiv 2602.20427, eq. 8b and 24.
    """
    steps = torch.arange(horizon, device=mu.device, dtype=mu.dtype)
    share = step_share(family, mu[:, None], sigma[:, None], steps)
    before = torch.cat([torch.zeros_like(share[:, :1]), share.cumsum(1)], dim=1)
    # The consumer starts too early if d_v <= d_u + lag - 1: column min(d_u + lag, horizon) of `before`.
    column = (steps + edges.lag[:, None]).clamp(0, horizon).long()
    return (share[edges.src] * before[edges.dst].gather(1, column)).sum(1)


def folded(profile: Tensor, ii: int) -> Tensor:
    """Return a profile over steps, shape (..., steps), summed into slots: shape (..., ii).

    Examples
    --------
    >>> folded(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]), 2).tolist()
    [9.0, 6.0]
    """
    slot = torch.arange(profile.shape[-1], device=profile.device) % ii
    return profile.new_zeros((*profile.shape[:-1], ii)).index_add(-1, slot, profile)


def liveness(
    mu: Tensor, sigma: Tensor, graph: Graph, horizon: int, hold_outputs: bool = False, ii: int | None = None
) -> Tensor:
    """Return the expected live bits on each boundary, shape (horizon,); of a loop in each slot, shape (ii,).

    ``sum over values of bits * F_u(d - born) * (1 - prod over consumers F_v(d - distance * ii))`` with F_i(d) the
    probability that operation i has started by step d, and ``born = max(latency - 1, 0)``. Cost (operations + edges)
    x steps: for teaching and comparison; the solver uses `lifetimes.LifetimeWindows`.

    References
    ----------
    Cai et al., arXiv 2602.20427, the expected liveness of formulations B and C.
    """
    uses = value_uses(graph, ii)
    steps = horizon + int(uses.shift.max(initial=0))
    boundary = torch.arange(steps, device=mu.device, dtype=mu.dtype) + 0.5
    born = torch.as_tensor(np.maximum(graph.latency - 1, 0), device=mu.device, dtype=mu.dtype)
    alive = torch.special.ndtr((boundary - (mu + born)[:, None]) / sigma[:, None])
    value, user, shift = (torch.as_tensor(column, device=mu.device) for column in uses)
    used = torch.special.log_ndtr((boundary - (mu[user] + shift)[:, None]) / sigma[user][:, None])
    over = torch.exp(torch.zeros_like(alive).index_add(0, value, used))
    # Over from the start without consumers, as the empty product says; or at the horizon, if outputs are held.
    if hold_outputs:
        idle = torch.as_tensor(np.bincount(uses.value, minlength=graph.n_ops) == 0, device=mu.device)
        over = torch.where(idle[:, None], (boundary >= horizon).to(mu.dtype), over)
    bits = torch.as_tensor(graph.bits.astype(np.float64), device=mu.device, dtype=mu.dtype)
    live: Tensor = (bits[:, None] * alive * (1 - over)).sum(0)
    return live if ii is None else folded(live, ii)


class ValueUses(NamedTuple):
    """Each value and each of its users once: operations of shape (k,), and the shift of the use, in steps."""

    value: IntArray
    user: IntArray
    shift: IntArray


def value_uses(graph: Graph, ii: int | None = None) -> ValueUses:
    """Return who uses which value; without `ii` in the same iteration, else ``distance * ii`` later (the largest)."""
    keep = np.flatnonzero(graph.distance == 0) if ii is None else np.arange(graph.n_edges)
    shift = product(graph.distance[keep], ii or 0).astype(np.int64)
    order = np.lexsort((-shift, graph.dst[keep], graph.src[keep]))
    src, dst, shift = graph.src[keep][order], graph.dst[keep][order], shift[order]
    fresh = np.ones(len(src), dtype=bool)
    fresh[1:] = (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
    return ValueUses(src[fresh], dst[fresh], shift[fresh])
