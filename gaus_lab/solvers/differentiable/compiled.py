"""Terms of the relaxation as compiled loops with gradients of their own, for Gaussians in single precision on a CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.solvers.differentiable import gaussian_kernels as kernels
from gaus_lab.solvers.differentiable.families import GAUSSIAN, Family

IntArray = NDArray[np.int64]
#: What the loops read of a graph, each a row an operation, value or edge.
Columns = tuple[NDArray[Any], ...]


def applies(device: torch.device, dtype: torch.dtype, family: Family) -> bool:
    """Return whether there are compiled loops for tensors of this kind."""
    return device.type == "cpu" and dtype == torch.float32 and family is GAUSSIAN


def columns(*arrays: NDArray[Any]) -> Columns:
    """Return arrays as the loops read them; all integers as int32 or, where one does not fit, none of them.

    With a type of its own for each column the loops would be compiled anew for every mixture.
    """
    narrow = all(np.abs(a).max(initial=0) < 2**31 for a in arrays if a.dtype == np.int64)
    return tuple(
        np.ascontiguousarray(a, dtype=np.int32 if narrow and a.dtype == np.int64 else a.dtype) for a in arrays
    )


def _of(tensor: Tensor) -> NDArray[Any]:
    """Return the cells of a tensor, in one piece."""
    return tensor.detach().contiguous().numpy()


class WindowedUsage(torch.autograd.Function):
    """Changes of usage per step, flat over resources and steps; see `windows.UsageWindows`."""

    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx, mu: Tensor, sigma: Tensor, table: Columns, unit: bool, reach: float, base: Tensor
    ) -> Tensor:
        """Return the values; see `torch.autograd.Function`."""
        changes = _of(base).copy()
        kernels.add_usage(_of(mu), _of(sigma), table, unit, reach, changes)
        ctx.save_for_backward(mu, sigma)
        ctx.table, ctx.unit, ctx.reach = table, unit, reach
        return torch.from_numpy(changes)

    @staticmethod
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        """Return the gradients by the inputs."""
        mu, sigma = ctx.saved_tensors
        to_mu, to_sigma = torch.zeros_like(mu), torch.zeros_like(sigma)
        kernels.pull_usage(
            _of(mu),
            _of(sigma),
            ctx.table,
            ctx.unit,
            ctx.reach,
            _of(grad),
            to_mu.numpy(),
            to_sigma.numpy(),
        )
        return to_mu, to_sigma, None, None, None, None


class LastUses(torch.autograd.Function):
    """Changes of live bits with the deaths of shared values taken off; see `lifetimes.LifetimeWindows`."""

    @staticmethod
    def forward(ctx, changes: Tensor, mu: Tensor, sigma: Tensor, table: Columns, reach: float) -> Tensor:  # type: ignore[no-untyped-def]
        """Return the values; see `torch.autograd.Function`."""
        kept = _of(changes).copy()
        kernels.take_deaths(_of(mu), _of(sigma), table, reach, kept)
        ctx.save_for_backward(mu, sigma)
        ctx.table, ctx.reach = table, reach
        return torch.from_numpy(kept)

    @staticmethod
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        """Return the gradients by the inputs."""
        mu, sigma = ctx.saved_tensors
        to_mu, to_sigma = torch.zeros_like(mu), torch.zeros_like(sigma)
        kernels.pull_deaths(
            _of(mu), _of(sigma), ctx.table, ctx.reach, _of(grad), to_mu.numpy(), to_sigma.numpy()
        )
        return grad, to_mu, to_sigma, None, None


class PrecedenceExcess(torch.autograd.Function):
    """The expected violation of each edge less its value on a tight edge; see `terms.precedence_excess`."""

    @staticmethod
    def forward(ctx, mu: Tensor, sigma: Tensor, table: Columns) -> Tensor:  # type: ignore[no-untyped-def]
        """Return the values; see `torch.autograd.Function`."""
        value, by_mean, by_deviation = (np.empty(len(table[0]), np.float32) for _ in range(3))
        kernels.excess(_of(mu), _of(sigma), table, value, (by_mean, by_deviation))
        ctx.save_for_backward(sigma)
        ctx.table, ctx.slopes = table, (by_mean, by_deviation)
        return torch.from_numpy(value)

    @staticmethod
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        """Return the gradients by the inputs."""
        (sigma,) = ctx.saved_tensors
        to_mu, to_sigma = torch.zeros_like(sigma), torch.zeros_like(sigma)
        kernels.pull_excess(_of(sigma), ctx.table, _of(grad), ctx.slopes, to_mu.numpy(), to_sigma.numpy())
        return to_mu, to_sigma, None
