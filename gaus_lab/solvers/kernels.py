"""A tournament tree for compiled loops: the smallest key of many, in logarithmic time per change.

The tree of k leaves is a float array of 2 k entries, k a power of two: leaf i at k + i, each inner entry the smaller
of its two children, the winner at 1. Absent leaves hold infinity. Keys are steps, ranks (both exact below 2**53) or
forces.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def tree(n_leaves: int) -> FloatArray:
    """Return a tree for `n_leaves` keys, all of them infinite."""
    return np.full(2 << max(n_leaves - 1, 0).bit_length(), np.inf)


@njit(cache=True)
def tree_set(keys: FloatArray, leaf: int, key: float) -> None:
    """Change the key of a leaf."""
    at = len(keys) // 2 + leaf
    keys[at] = key
    while at > 1:
        at //= 2
        smaller = min(keys[2 * at], keys[2 * at + 1])
        if keys[at] == smaller:
            return
        keys[at] = smaller


@njit(cache=True)
def tree_first(keys: FloatArray) -> int:
    """Return the leaf with the smallest key, the first of equals; 0 if all are infinite."""
    at, half = 1, len(keys) // 2
    while at < half:
        at *= 2
        if keys[at] > keys[at + 1]:
            at += 1
    return at - half


@njit(cache=True)
def tree_least(keys: FloatArray, begin: int, end: int) -> float:
    """Return the smallest key of the leaves from `begin` to before `end`; infinity if there are none."""
    half = len(keys) // 2
    low, high, least = begin + half, end + half, np.inf
    while low < high:
        if low % 2:
            least = min(least, keys[low])
            low += 1
        if high % 2:
            high -= 1
            least = min(least, keys[high])
        low //= 2
        high //= 2
    return least
