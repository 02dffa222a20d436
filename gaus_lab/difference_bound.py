"""Least weighted differences of starts, by linear programming: the dual of a minimum-cost flow.

A bound must be proven, whatever the tolerances of a floating-point solver: the dual solution is rounded to integers,
and its value computed exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaus_lab.exact import product, total

IntArray = NDArray[np.int64]

#: Above this many differences the linear program takes too long.
MAX_DIFFERENCES = 120_000


class Differences(NamedTuple):
    """``x[dst] - x[src] >= lag``, each with a cost per step of ``x[dst] - x[src]``; ``early <= x <= late``."""

    src: IntArray
    dst: IntArray
    lag: IntArray
    cost: IntArray
    early: IntArray
    late: IntArray


def solvable(count: int) -> bool:
    """Return whether the linear program over so many differences is worth laying out."""
    return 0 < count <= MAX_DIFFERENCES


def least_differences(system: Differences) -> int | None:
    """Return a lower bound on ``sum of cost * (x[dst] - x[src])``; None if the linear program is too large or fails.

    By weak duality any flows ``y >= 0`` give a bound: with the remaining price ``r`` of each x it is ``sum of y * lag
    + sum of min(r * early, r * late)``. An optimal dual solution is integer, so rounding loses nothing.

    References
    ----------
    Ahuja, Magnanti, Orlin, "Network Flows", Prentice Hall 1993, section 9.4 (dual of minimum-cost flow).

    Examples
    --------
    >>> one = np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([1, 0, 1]), np.array([0, 3, 0])
    >>> least_differences(Differences(*one, early=np.zeros(3, int), late=np.full(3, 9)))
    6
    """
    if not solvable(len(system.src)):
        return None
    flow = _dual_flow(system)
    if flow is None:
        return None
    price = np.zeros(len(system.early), dtype=object)
    np.add.at(price, system.dst, system.cost - flow)
    np.subtract.at(price, system.src, system.cost - flow)
    at = np.where(price >= 0, system.early, system.late)
    return total(product(flow, system.lag)) + total(price * at)


def _dual_flow(system: Differences) -> IntArray | None:
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    src, dst, cost = system.src, system.dst, system.cost
    n, m = len(system.early), len(src)
    price = np.bincount(dst, cost, n) - np.bincount(src, cost, n)
    rows, ones = np.arange(m), np.ones(m)
    matrix = coo_array(
        (np.concatenate([ones, -ones]), (np.concatenate([rows, rows]), np.concatenate([src, dst]))),
        shape=(m, n),
    ).tocsr()
    window = np.column_stack([system.early, system.late])
    answer = linprog(price, A_ub=matrix, b_ub=-system.lag, bounds=window, method="highs-ds")
    if answer.status != 0:
        return None
    flow: IntArray = np.rint(-answer.ineqlin.marginals).clip(0, float(cost.sum())).astype(np.int64)
    return flow
