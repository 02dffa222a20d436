"""Topological order and cycles of the edges of distance 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def topological_order(n_ops: int, src: IntArray, dst: IntArray, distance: IntArray) -> IntArray:
    """Return the operations in topological order, sources first in index order.

    Shorter than `n_ops` if the edges of distance 0 hold a cycle: then it lists the operations before the cycles.
    Kahn's algorithm, O(n + m); plain lists, since a compiled loop would cost more to load than this takes.
    """
    offsets, targets = _adjacency(n_ops, src, dst, distance)
    waiting = np.bincount(dst[distance == 0], minlength=n_ops).tolist()
    order = [i for i in range(n_ops) if waiting[i] == 0]
    for u in order:  # grows while it is read
        for v in targets[offsets[u] : offsets[u + 1]]:
            waiting[v] -= 1
            if waiting[v] == 0:
                order.append(v)
    return np.asarray(order, dtype=np.int64)


def find_cycle(n_ops: int, src: IntArray, dst: IntArray, distance: IntArray) -> list[int]:
    """Return the operations of one cycle of distance-0 edges in edge direction, [] if there is none."""
    inside = np.ones(n_ops, dtype=bool)
    inside[topological_order(n_ops, src, dst, distance)] = False
    if not inside.any():
        return []
    # Every operation left has a predecessor among those left: walking backwards must repeat one.
    keep = (distance == 0) & inside[src] & inside[dst]
    producer = dict(zip(dst[keep].tolist(), src[keep].tolist(), strict=True))
    op = int(np.flatnonzero(inside)[0])
    seen: dict[int, int] = {}
    while op not in seen:
        seen[op] = len(seen)
        op = producer[op]
    return list(seen)[: seen[op] - 1 if seen[op] else None : -1]


def _adjacency(n_ops: int, src: IntArray, dst: IntArray, distance: IntArray) -> tuple[list[int], list[int]]:
    keep = np.flatnonzero(distance == 0)
    by_source = keep[np.argsort(src[keep], kind="stable")]
    counts = np.bincount(src[keep], minlength=n_ops)
    return [0, *np.cumsum(counts).tolist()], dst[by_source].tolist()
