"""Expected usage evaluated on windows of a few deviations: time and memory follow the windows, not n x D."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.solvers.differentiable import compiled
from gaus_lab.solvers.differentiable.families import GAUSSIAN, Family

IntArray = NDArray[np.int64]

#: A window reaches this many deviations to either side; the mass beyond counts in the window's last steps.
REACH = 3.0
#: Deviations at which nothing is left of a start; a rest of Cauchy's goes to the last step of its window.
FAR = 1e3


@dataclass(frozen=True)
class _Bucket:
    """Operations whose windows have the same number of steps; tensors of shape (b, 1) unless said otherwise."""

    ops: Tensor  # (b,), indices of the operations
    row: Tensor  # first cell of the resource's row in the flat usage array
    occupancy: Tensor
    weight: Tensor
    early: Tensor
    late: Tensor
    ragged: bool  # whether some window is longer than the mobility of its operation allows
    edges: Tensor  # (steps - 1,), place of the inner window edges relative to the begin, steps
    cells: Tensor  # (steps,), 0 .. steps - 1


class UsageWindows:
    """Expected usage of each resource in each step, with gradient, for deviations up to a cap.

    The start of an operation is clipped to [ASAP, ALAP], as legalisation will clip it, so an operation's window
    never has more steps than its mobility + 1, and its probabilities sum to 1 on it. Operations of mobility 0 are
    constants. Shapes depend on the cap and the graph alone: evaluation never waits for the device.

    Parameters
    ----------
    early, late : int arrays of shape (n_ops,), steps
        ASAP and ALAP.
    occupancy : int array of shape (n_ops,), steps
    weight : array of shape (n_ops,), units
    resource_index : int array of shape (n_ops,)
    n_resources, horizon : int
    max_sigma : float, steps
        Largest deviation that will be passed.
    device, dtype : of the tensors that will be passed
    family : Family

    Attributes
    ----------
    adapts : bool
        Whether windows follow each deviation by themselves, whatever `max_sigma` was.

    Notes
    -----
    With s the probability of each start, usage is ``sum of weight * s`` spread over the occupancy. Both are kept as
    changes per step and summed along time once, so a long occupancy costs nothing. For Gaussians in single precision
    on a CPU compiled loops do the work, on windows of each operation's own deviation.
    """

    def __init__(
        self,
        early: IntArray,
        late: IntArray,
        occupancy: IntArray,
        weight: NDArray[np.int64],
        resource_index: IntArray,
        n_resources: int,
        horizon: int,
        max_sigma: float,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
        family: Family = GAUSSIAN,
    ) -> None:
        self.family = family
        self.shape = (n_resources, horizon + int(occupancy.max(initial=1)))
        self.unit_occupancy = bool((occupancy == 1).all())
        row = resource_index * self.shape[1]
        base = self._constant(np.flatnonzero(early == late), early, occupancy, weight, row)
        moving = np.flatnonzero((early < late) & (weight != 0))
        self.adapts = compiled.applies(device, dtype, family)
        self.base = torch.as_tensor(base, device=device, dtype=torch.float64 if self.adapts else dtype)
        of_moving = (column[moving] for column in (early, late, row, occupancy, weight.astype(np.float64)))
        self._table = compiled.columns(moving, *of_moving) if self.adapts else ()
        self.buckets: list[_Bucket] = []
        if self.adapts:
            return
        steps = np.minimum(late - early + 1, 2 * int(np.ceil(REACH * max_sigma)) + 1)
        for size, ops in by_size(steps, moving):
            first, last, busy, amount, cell = (
                torch.as_tensor(column[ops], device=device)[:, None]
                for column in (early, late, occupancy, weight, row)
            )
            self.buckets.append(
                _Bucket(
                    ops=torch.as_tensor(ops, device=device),
                    row=cell,
                    occupancy=busy,
                    weight=amount.to(dtype),
                    early=first,
                    late=last,
                    ragged=bool((late[ops] - early[ops] + 1 < size).any()),
                    edges=torch.arange(1, size, device=device, dtype=dtype) - 0.5,
                    cells=torch.arange(size, device=device),
                )
            )

    def _constant(
        self,
        ops: IntArray,
        early: IntArray,
        occupancy: IntArray,
        weight: NDArray[np.int64],
        row: IntArray,
    ) -> NDArray[np.float64]:
        """Return the usage changes of the operations that cannot move, flat over resources and steps."""
        changes = np.zeros(self.shape[0] * self.shape[1])
        np.add.at(changes, row[ops] + early[ops], weight[ops])
        if not self.unit_occupancy:
            np.subtract.at(changes, row[ops] + early[ops] + occupancy[ops], weight[ops])
        return changes

    @property
    def n_cells(self) -> int:
        """Cells evaluated in each call by tensor operations: the sum of the windows."""
        return sum(len(b.ops) * len(b.cells) for b in self.buckets)

    def __call__(self, mu: Tensor, sigma: Tensor) -> Tensor:
        """Return expected usage, shape (n_resources, horizon + largest occupancy), units."""
        if self.adapts:
            changes = compiled.WindowedUsage.apply(
                mu, sigma, self._table, self.unit_occupancy, REACH, self.base
            )
        else:
            changes = _Changes.apply(mu, sigma, self)
        grid = changes.view(self.shape)
        if self.unit_occupancy:
            return grid.to(mu.dtype)  # type: ignore[no-any-return]
        # Sums along time in double precision: a long horizon would eat the digits of single.
        return grid.to(torch.float64).cumsum(1).to(mu.dtype)  # type: ignore[no-any-return]


def by_size(steps: IntArray, ops: IntArray) -> list[tuple[int, IntArray]]:
    """Return (window steps, operations) with sizes rounded up by at most a quarter, so that buckets are few."""
    groups: dict[int, list[int]] = {}
    for size in np.unique(steps[ops]).tolist():
        groups.setdefault(_rounded(size), []).append(size)
    return [(max(sizes), ops[np.isin(steps[ops], sizes)]) for sizes in groups.values()]


def _rounded(size: int) -> int:
    """Return a label shared by sizes within a quarter of each other; small sizes have their own."""
    if size <= 6:
        return size
    return 6 + round(4 * float(np.log2(size / 6)))


class _Changes(torch.autograd.Function):
    """Usage changes per step from (mu, sigma); the gradient is summed over window edges, by parts."""

    @staticmethod
    def forward(ctx, mu: Tensor, sigma: Tensor, windows: UsageWindows) -> Tensor:  # type: ignore[no-untyped-def]
        changes = windows.base.clone()
        saved = []
        for bucket in windows.buckets:
            cell, z = _place(bucket, mu, sigma)
            below = windows.family.cdf(z)
            share = torch.diff(
                below, dim=1, prepend=torch.zeros_like(z[:, :1]), append=torch.ones_like(z[:, :1])
            )
            amount = (share * bucket.weight).flatten()
            changes.index_add_(0, cell.flatten(), amount)
            if not windows.unit_occupancy:
                changes.index_add_(0, (cell + bucket.occupancy).flatten(), amount, alpha=-1)
            saved += [cell, z]
        ctx.windows = windows
        ctx.save_for_backward(sigma, *saved)
        return changes

    @staticmethod
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        sigma, *saved = ctx.saved_tensors
        to_mu, to_sigma = torch.zeros_like(sigma), torch.zeros_like(sigma)
        for k, bucket in enumerate(ctx.windows.buckets):
            cell, z = saved[2 * k], saved[2 * k + 1]
            value = grad[cell]
            if not ctx.windows.unit_occupancy:
                value = value - grad[cell + bucket.occupancy]
            # d share / d mu telescopes: only differences of neighbouring cells meet the density at an edge.
            pull = torch.diff(value, dim=1) * ctx.windows.family.density(z)
            scale = bucket.weight[:, 0] / sigma[bucket.ops]
            to_mu[bucket.ops] = pull.sum(1) * scale
            to_sigma[bucket.ops] = (pull * z).sum(1) * scale
        return to_mu, to_sigma, None


def _place(bucket: _Bucket, mu: Tensor, sigma: Tensor) -> tuple[Tensor, Tensor]:
    """Return the flat cells of each window (b, steps) and its inner edges in deviations (b, steps - 1)."""
    centre, deviation = mu[bucket.ops][:, None], sigma[bucket.ops][:, None]
    begin = torch.round(centre).long() - len(bucket.cells) // 2
    begin = torch.maximum(torch.minimum(begin, bucket.late - len(bucket.cells) + 1), bucket.early)
    cell, edge = begin + bucket.cells, begin.to(mu.dtype) + bucket.edges
    z = (edge - centre) / deviation
    if bucket.ragged:  # all mass lies before the end of [ASAP, ALAP]; the cells beyond get none
        z = torch.where(edge > bucket.late, torch.full_like(z, FAR), z)
        cell = torch.minimum(cell, bucket.late)
    return bucket.row + cell, z
