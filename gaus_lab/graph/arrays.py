"""Read-only arrays, as the graph keeps its properties in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.errors import GraphError

IntArray = NDArray[np.int64]


def frozen(values: Any, what: str = "an array") -> NDArray[Any]:
    """Return a read-only copy with dtype int64, or float64 where a value has a fractional part."""
    array = np.array(values)
    if array.size == 0:
        array = array.astype(np.int64)
    elif array.dtype.kind == "f":
        whole = np.isfinite(array).all() and (array == np.rint(array)).all() and np.abs(array).max() < 2**62
        array = array.astype(np.int64 if whole else np.float64)
    elif array.dtype.kind == "i" or (array.dtype.kind == "u" and array.max() < 2**63):
        array = array.astype(np.int64)
    else:
        raise GraphError(f"{what} must hold numbers of at most 64 bits, got dtype {array.dtype}")
    array.setflags(write=False)
    return array


def grouped(key: IntArray, n_groups: int) -> tuple[IntArray, IntArray]:
    """Return the indices of `key` by its value: (offsets of shape (n_groups + 1,), indices in stable order)."""
    counts = np.bincount(key, minlength=n_groups) if len(key) else np.zeros(n_groups, np.int64)
    return frozen(np.concatenate([[0], np.cumsum(counts)])), frozen(np.argsort(key, kind="stable"))


def select(attributes: Mapping[str, Mapping[int, Any]], indices: IntArray) -> dict[str, dict[int, Any]]:
    """Return the attributes of some indices, renumbered from 0; keys that none of them has are left out."""
    chosen = {
        key: {new: values[old] for new, old in enumerate(indices.tolist()) if old in values}
        for key, values in attributes.items()
    }
    return {key: values for key, values in chosen.items() if values}
