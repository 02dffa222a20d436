"""Products and sums of integer arrays that stay exact beyond 64 bits.

One number of a graph may be as large as 2**42, so a product of two need not fit. Where it might not, the result
is an array of Python integers (dtype object), on which numpy computes slower, and exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Results below this are left in 64 bits, with a bit to spare for a difference of two.
LIMIT = 2**62

Numbers = NDArray[Any]


def product(left: Numbers, right: Numbers | int) -> Numbers:
    """Return ``left * right`` elementwise.

    Examples
    --------
    >>> product(np.array([2**40]), 2**40).tolist() == [2**80]
    True
    """
    factor = abs(right) if isinstance(right, int) else _largest(right)
    if left.dtype.kind == "f" or _largest(left) * factor < LIMIT:
        return left * right
    return left.astype(object) * right


def summable(values: Numbers) -> Numbers:
    """Return the values in a form in which no sum of some of them overflows."""
    if values.dtype.kind == "i" and _largest(values) * len(values) >= LIMIT:
        return values.astype(object)
    return values


def total(values: Numbers) -> int:
    """Return the sum as a Python integer, or as a float of values with fractional parts; 0 for no values."""
    amount: int = plain(summable(values).sum())
    return amount


def plain(value: Any) -> Any:
    """Return the Python number that a numpy scalar holds; Python numbers as they are."""
    return value.item() if isinstance(value, np.generic) else value


def _largest(values: Numbers) -> Any:
    """Return the largest magnitude as a Python number; 0 for no values."""
    return max(abs(plain(values.max())), abs(plain(values.min()))) if len(values) else 0
