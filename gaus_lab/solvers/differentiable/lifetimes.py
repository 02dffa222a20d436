"""Expected liveness evaluated on windows of a few deviations: a birth and a death for every value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.graph import Graph
from gaus_lab.solvers.differentiable import compiled
from gaus_lab.solvers.differentiable.families import GAUSSIAN, Family
from gaus_lab.solvers.differentiable.terms import ValueUses, folded, value_uses
from gaus_lab.solvers.differentiable.windows import FAR, REACH, UsageWindows, by_size

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class _SharedValues:
    """Values whose last use is looked for on windows of one size; v values, e pairs."""

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

    In a loop boundaries fold modulo `ii`. A death may lie many iterations after the birth; whole turns of the slots,
    which each add the value's bits to every slot, are taken off it first, so that time never goes far beyond the
    horizon, however large a distance is.

    Parameters
    ----------
    graph : Graph
        Its edges of distance 0 are consumers, in a loop all edges; parallel ones count once.
    early, late : int arrays of shape (n_ops,), steps
        ASAP and ALAP; starts are clipped to them.
    horizon : int, steps
    hold_outputs : bool
        Whether values without consumers stay live to the horizon.
    max_sigma : float, steps
        Largest deviation that will be passed.
    ii : int, steps, optional
        Initiation interval of a loop.

    Attributes
    ----------
    adapts : bool
        As of `UsageWindows`.
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
        family: Family = GAUSSIAN,
        ii: int | None = None,
    ) -> None:
        delay = np.maximum(graph.latency - 1, 0)
        self._ii, self._horizon = ii, horizon
        uses, turns = _without_turns(_all_uses(graph, ii, delay), early, ii)
        steps = horizon
        if ii is not None:
            steps = max(horizon, int((late[uses.user] + uses.shift).max(initial=0)) + 1)
        fan_out = np.bincount(uses.value, minlength=graph.n_ops)
        born = np.where((fan_out > 0) | hold_outputs, graph.bits, 0)
        alone = (fan_out[uses.value] == 1) & (uses.shift == 0)
        died = np.zeros_like(graph.bits)
        np.add.at(died, uses.user[alone], graph.bits[uses.value[alone]])

        def windows(weight: IntArray, by: IntArray) -> UsageWindows:
            ones, zeros = np.ones_like(early), np.zeros_like(early)
            return UsageWindows(
                early + by, late + by, ones, weight, zeros, 1, steps, max_sigma, device, dtype, family
            )

        # Where every birth is in the step of the start, births and deaths are one change.
        self._delay = torch.as_tensor(delay, device=device, dtype=dtype) if delay.any() else None
        self._births = windows(born, delay) if delay.any() else None
        self._changes = windows(-died if delay.any() else born - died, np.zeros_like(early))
        rest = ValueUses(*(column[~alone] for column in uses))
        self.adapts = compiled.applies(device, dtype, family)
        self._table = _table_of_shared(graph, rest, early, late) if self.adapts else ()
        self._shared: list[_SharedValues] = []
        if not self.adapts:
            self._shared += _shared_values(graph, rest, early, late, max_sigma, device, dtype)
        self._family = family
        self._every_slot = float((turns * graph.bits.astype(np.float64)).sum())
        self._held = float(graph.bits[fan_out == 0].sum()) if hold_outputs and ii is not None else 0.0

    def __call__(self, mu: Tensor, sigma: Tensor) -> Tensor:
        """Return expected live bits, shape (horizon,); entry d is the boundary between steps d and d + 1.

        In a loop the shape is (ii,), and entry s the sum of the boundaries d with ``d mod ii = s``.
        """
        changes = self._changes(mu, sigma)[0]
        if self._births is not None and self._delay is not None:
            changes = changes + self._births(mu + self._delay, sigma)[0]
        if self.adapts:
            changes = compiled.LastUses.apply(changes, mu, sigma, self._table, REACH)
        for values in self._shared:
            cell, amount = _deaths(values, mu, sigma, self._family)
            changes = changes.index_add(0, cell.flatten(), amount.flatten())
        # Sums along time in double precision: a long horizon would eat the digits of single.
        live = changes.to(torch.float64).cumsum(0)
        if self._ii is None:
            return live[:-1].to(mu.dtype)
        live = torch.cat([live[: self._horizon], live[self._horizon :] - self._held])
        return (folded(live, self._ii) + self._every_slot).to(mu.dtype)


def _all_uses(graph: Graph, ii: int | None, delay: IntArray) -> ValueUses:
    """Return the uses, and the birth of a value among them where a consumer may start before it."""
    uses = value_uses(graph, ii)
    counts = graph.distance == 0 if ii is None else np.ones(graph.n_edges, dtype=bool)
    hasty = np.unique(graph.src[counts & (graph.lag < delay[graph.src])])
    births = ValueUses(hasty, hasty, delay[hasty])
    return ValueUses(*(np.concatenate(pair) for pair in zip(uses, births, strict=True)))


def _without_turns(uses: ValueUses, early: IntArray, ii: int | None) -> tuple[ValueUses, IntArray]:
    """Return uses that are whole turns of the slots earlier, and the turns of each value.

    The use that can come last of all is moved by all its turns; others of the value may end up before step 0, but
    then never are the last.
    """
    turns = np.zeros(len(early), dtype=np.int64)
    if ii is None or not len(uses.value):
        return uses, turns
    order = np.lexsort((early[uses.user] + uses.shift, uses.value))
    turns[uses.value[order]] = uses.shift[order] // ii  # the last entry of a value stays
    return uses._replace(shift=uses.shift - turns[uses.value] * ii), turns


def _windows_of_shared(
    uses: ValueUses, early: IntArray, late: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return the values, the place of each use among them, and the steps in which the last use may lie."""
    values, place = np.unique(uses.value, return_inverse=True)
    first, last = np.full_like(values, np.iinfo(np.int64).min), np.zeros_like(values)
    np.maximum.at(first, place, early[uses.user] + uses.shift)
    np.maximum.at(last, place, late[uses.user] + uses.shift)
    return values, place, first, last


def _table_of_shared(graph: Graph, uses: ValueUses, early: IntArray, late: IntArray) -> compiled.Columns:
    """Return the same values as `_shared_values` for compiled loops: uses grouped by value, and a row a value."""
    values, place, first, last = _windows_of_shared(uses, early, late)
    order = np.argsort(place, kind="stable")
    offsets = np.searchsorted(place[order], np.arange(len(values) + 1))
    user, shift = uses.user[order], uses.shift[order]
    bits = graph.bits[values].astype(np.float64)
    return compiled.columns(offsets, user, shift, late[user] + shift, first, last, bits)


def _shared_values(
    graph: Graph,
    uses: ValueUses,
    early: IntArray,
    late: IntArray,
    max_sigma: float,
    device: torch.device,
    dtype: torch.dtype,
) -> Iterator[_SharedValues]:
    """Yield the values whose death needs a window of its own, grouped by the size of that window."""
    values, place, first, last = _windows_of_shared(uses, early, late)
    steps = np.minimum(last - first + 1, 2 * int(np.ceil(REACH * max_sigma)) + 1)
    for size, group in by_size(steps, np.arange(len(values))):
        local = np.full(len(values), -1)
        local[group] = np.arange(len(group))
        chosen = np.flatnonzero(local[place] >= 0)
        consumer, shift = uses.user[chosen], uses.shift[chosen]
        yield _SharedValues(
            consumer=torch.as_tensor(consumer, device=device),
            value=torch.as_tensor(local[place[chosen]], device=device),
            shift=torch.as_tensor(shift, device=device, dtype=dtype),
            late=torch.as_tensor(late[consumer] + shift, device=device)[:, None],
            first=torch.as_tensor(first[group], device=device),
            last=torch.as_tensor(last[group], device=device),
            bits=torch.as_tensor(graph.bits[values[group]], device=device, dtype=dtype)[:, None],
            edges=torch.arange(1, size, device=device, dtype=dtype) - 0.5,
            cells=torch.arange(size, device=device),
        )


def _deaths(values: _SharedValues, mu: Tensor, sigma: Tensor, family: Family) -> tuple[Tensor, Tensor]:
    """Return the cells of each window, and by how much live bits change there; both (v, steps)."""
    size, centre = len(values.cells), mu[values.consumer] + values.shift
    with torch.no_grad():
        latest = torch.full_like(values.bits[:, 0], -torch.inf)
        latest = latest.scatter_reduce(0, values.value, centre, "amax")
        begin = torch.round(latest).long() - size // 2
        begin = torch.maximum(torch.minimum(begin, values.last - size + 1), values.first)
    edge = begin.to(mu.dtype)[values.value, None] + values.edges
    z = (edge - centre[:, None]) / sigma[values.consumer, None]
    z = torch.where(edge > values.late, torch.full_like(z, FAR), z)  # clipped: it has started by its ALAP
    log_started = torch.zeros(len(begin), size - 1, dtype=mu.dtype, device=mu.device)
    started = torch.exp(log_started.index_add(0, values.value, family.log_cdf(z)))
    ends = torch.zeros_like(values.bits), torch.ones_like(values.bits)
    share = torch.diff(started, dim=1, prepend=ends[0], append=ends[1])
    cell = torch.minimum(begin[:, None] + values.cells, values.last[:, None])
    return cell, -share * values.bits
