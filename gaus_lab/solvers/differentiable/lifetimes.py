"""Expected liveness evaluated on windows of a few deviations: a birth and a death for every value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.graph import Graph
from gaus_lab.solvers.differentiable.windows import FAR, REACH, UsageWindows, by_size

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class _SharedValues:
    """Values of several consumers whose last start is looked for on windows of one size; v values, e pairs."""

    consumer: Tensor  # (e,), operation of each pair
    shift: Tensor  # (e,), steps from its start to the event that ends the value
    value: Tensor  # (e,), place among the v values
    late: Tensor  # (e, 1), latest step of that event
    first: Tensor  # (v,), the last of the consumers can start no earlier
    last: Tensor  # (v,), and no later
    bits: Tensor  # (v, 1)
    edges: Tensor  # (steps - 1,), inner window edges relative to the window's begin, steps
    cells: Tensor  # (steps,)


class LifetimeWindows:
    """Expected live bits on each boundary, with gradient, for deviations up to a cap.

    A value of u is live from its birth ``start[u] + max(latency[u] - 1, 0)`` to its death, the last start of a
    consumer; where an edge latency lets a consumer start before the birth, the death is no earlier than the birth. Then
    the death follows the birth in every schedule that keeps the dependences, and the probability of being live is
    ``F_u(d) - prod over consumers F_v(d)``. Where they may be broken this is smaller than the
    ``F_u(d) (1 - prod F_v(d))`` of `terms.liveness`, by ``(1 - F_u(d)) prod F_v(d)``. Births and deaths are changes on
    windows: cost follows the windows times the consumers, not values x horizon.

    Parameters
    ----------
    graph : Graph
        Its edges of distance 0 are consumers; parallel ones count once.
    early, late : int arrays of shape (n_ops,), steps
        ASAP and ALAP; starts are clipped to them.
    horizon : int, steps
    hold_outputs : bool
        Whether values without consumers stay live to the horizon.
    max_sigma : float, steps
        Largest deviation that will be passed.
    """

    def __init__(
        self,
        graph: Graph,
        early: IntArray,
        late: IntArray,
        horizon: int,
        hold_outputs: bool,
        max_sigma: float,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        pairs, delay = consumer_pairs(graph), np.maximum(graph.latency - 1, 0)
        hasty = np.unique(graph.src[(graph.distance == 0) & (graph.lag < delay[graph.src])])
        shift = np.concatenate([np.zeros(len(pairs), dtype=np.int64), delay[hasty]])
        pairs = np.concatenate([pairs, np.column_stack([hasty, hasty])])
        fan_out = np.bincount(pairs[:, 0], minlength=graph.n_ops)
        born = np.where((fan_out > 0) | hold_outputs, graph.bits, 0)
        sole = pairs[fan_out[pairs[:, 0]] == 1]
        died = np.zeros_like(graph.bits)
        np.add.at(died, sole[:, 1], graph.bits[sole[:, 0]])

        def windows(weight: IntArray, by: IntArray) -> UsageWindows:
            ones, zeros = np.ones_like(early), np.zeros_like(early)
            return UsageWindows(
                early + by, late + by, ones, weight, zeros, 1, horizon, max_sigma, device, dtype
            )

        # Where every birth is in the step of the start, births and deaths are one change.
        self._delay = torch.as_tensor(delay, device=device, dtype=dtype) if delay.any() else None
        self._births = windows(born, delay) if delay.any() else None
        self._changes = windows(-died if delay.any() else born - died, np.zeros_like(early))
        shared = fan_out[pairs[:, 0]] > 1
        self._shared = list(
            _shared_values(graph, pairs[shared], shift[shared], early, late, max_sigma, device, dtype)
        )

    def __call__(self, mu: Tensor, sigma: Tensor) -> Tensor:
        """Return expected live bits, shape (horizon,); entry d is the boundary between steps d and d + 1."""
        changes = self._changes(mu, sigma)[0]
        if self._births is not None and self._delay is not None:
            changes = changes + self._births(mu + self._delay, sigma)[0]
        for values in self._shared:
            cell, amount = _deaths(values, mu, sigma)
            changes = changes.index_add(0, cell.flatten(), amount.flatten())
        # Sums along time in double precision: a long horizon would eat the digits of single.
        return changes.to(torch.float64).cumsum(0)[:-1].to(mu.dtype)


def consumer_pairs(graph: Graph) -> IntArray:
    """Return each value and each of its consumers in the same iteration once, int array of shape (k, 2)."""
    keep = graph.distance == 0
    pairs: IntArray = np.unique(np.column_stack([graph.src[keep], graph.dst[keep]]), axis=0)
    return pairs


def _shared_values(
    graph: Graph,
    pairs: IntArray,
    shift: IntArray,
    early: IntArray,
    late: IntArray,
    max_sigma: float,
    device: torch.device,
    dtype: torch.dtype,
) -> Iterator[_SharedValues]:
    """Yield the values of several consumers, grouped by the size of the window of their death."""
    values, place = np.unique(pairs[:, 0], return_inverse=True)
    first, last = np.zeros_like(values), np.zeros_like(values)
    np.maximum.at(first, place, early[pairs[:, 1]] + shift)
    np.maximum.at(last, place, late[pairs[:, 1]] + shift)
    steps = np.minimum(last - first + 1, 2 * int(np.ceil(REACH * max_sigma)) + 1)
    for size, group in by_size(steps, np.arange(len(values))):
        local = np.full(len(values), -1)
        local[group] = np.arange(len(group))
        chosen = np.flatnonzero(local[place] >= 0)
        consumer = pairs[chosen, 1]
        yield _SharedValues(
            consumer=torch.as_tensor(consumer, device=device),
            value=torch.as_tensor(local[place[chosen]], device=device),
            shift=torch.as_tensor(shift[chosen], device=device, dtype=dtype),
            late=torch.as_tensor(late[consumer] + shift[chosen], device=device)[:, None],
            first=torch.as_tensor(first[group], device=device),
            last=torch.as_tensor(last[group], device=device),
            bits=torch.as_tensor(graph.bits[values[group]], device=device, dtype=dtype)[:, None],
            edges=torch.arange(1, size, device=device, dtype=dtype) - 0.5,
            cells=torch.arange(size, device=device),
        )


def _deaths(values: _SharedValues, mu: Tensor, sigma: Tensor) -> tuple[Tensor, Tensor]:
    """Return the cells of each window, and by how much live bits change there; both (v, steps)."""
    size, centre = len(values.cells), mu[values.consumer] + values.shift
    with torch.no_grad():
        latest = torch.full_like(values.bits[:, 0], -1.0).scatter_reduce(0, values.value, centre, "amax")
        begin = torch.round(latest).long() - size // 2
        begin = torch.maximum(torch.minimum(begin, values.last - size + 1), values.first)
    edge = begin.to(mu.dtype)[values.value, None] + values.edges
    z = (edge - centre[:, None]) / sigma[values.consumer, None]
    z = torch.where(edge > values.late, torch.full_like(z, FAR), z)  # clipped: it has started by its ALAP
    log_started = torch.zeros(len(begin), size - 1, dtype=mu.dtype, device=mu.device)
    started = torch.exp(log_started.index_add(0, values.value, torch.special.log_ndtr(z)))
    ends = torch.zeros_like(values.bits), torch.ones_like(values.bits)
    share = torch.diff(started, dim=1, prepend=ends[0], append=ends[1])
    cell = torch.minimum(begin[:, None] + values.cells, values.last[:, None])
    return cell, -share * values.bits
