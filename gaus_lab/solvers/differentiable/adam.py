"""Adam, in the few lines that a gradient step needs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class Adam:
    """Adam with a learning rate for each tensor and step.

    The optimiser of torch does the same, but its first step loads torch's compiler: two seconds and 70 MB, more than
    many whole runs.

    Parameters
    ----------
    parameters : sequence of tensors
    beta1, beta2 : float from 0 to 1
    epsilon : float > 0

    References
    ----------
    Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1.

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> adam = Adam([x])
    >>> x.square().sum().backward()
    >>> adam.step([0.5])
    >>> x
    tensor([2.5000], requires_grad=True)
    """

    def __init__(
        self, parameters: Sequence[Tensor], beta1: float = 0.9, beta2: float = 0.99, epsilon: float = 1e-8
    ) -> None:
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon
        self._parameters = tuple(parameters)
        self._moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
        self._done = 0

    @torch.no_grad()
    def step(self, rates: Sequence[float]) -> None:
        """Move every tensor against its gradient at its rate, and drop the gradients.

        Parameters
        ----------
        rates : float > 0 for each tensor
        """
        self._done += 1
        first, second = 1 - self._beta1**self._done, 1 - self._beta2**self._done
        for p, (mean, square), rate in zip(self._parameters, self._moments, rates, strict=True):
            assert p.grad is not None
            mean.lerp_(p.grad, 1 - self._beta1)
            square.mul_(self._beta2).addcmul_(p.grad, p.grad, value=1 - self._beta2)
            scale = square.sqrt().div_(second**0.5).add_(self._epsilon)
            p.addcdiv_(mean, scale, value=-rate / first)
            p.grad = None
