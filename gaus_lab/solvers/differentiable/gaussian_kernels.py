"""Compiled loops for the Gaussian relaxation on a CPU: expected usage, ends of values, violations, with gradients.

Each of them is one pass over windows or edges that keeps nothing per cell. On the same graphs the tensor operations
that they stand for (`windows`, `lifetimes`, `terms`, still used on GPUs, in double precision and for other families)
write and read every cell about fifteen times; ``gaus-lab scaling`` and ``tests/test_benchmark.py`` compare the two.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy.special import ndtr

#: Deviations to either side of the table; beyond, F is 0 or 1 in single precision.
_LIMIT = 6.0
#: Entries of the table in a deviation.
_PER_UNIT = 128
_GRID = np.arange(-_LIMIT, _LIMIT + 0.5 / _PER_UNIT, 1 / _PER_UNIT)
_CDF = ndtr(_GRID)
_DENSITY = np.exp(-0.5 * _GRID * _GRID) / math.sqrt(2 * math.pi)
_DENSITY_AT_0 = 1 / math.sqrt(2 * math.pi)
#: Smallest F that a product is divided by.
_TINY = 1e-12


@njit(cache=True, inline="always")
def cdf_and_density(z):  # type: ignore[no-untyped-def]
    """Return F(z) and f(z), each with an absolute error below 1e-8: second-order expansions from a table."""
    if z <= -_LIMIT:
        return 0.0, 0.0
    if z >= _LIMIT:
        return 1.0, 0.0
    place = int((z + _LIMIT) * _PER_UNIT + 0.5)
    at = _GRID[place]
    h, f = z - at, _DENSITY[place]
    return _CDF[place] + h * f * (1 - 0.5 * h * at), f * (1 - h * (at - 0.5 * h * (at * at - 1)))


@njit(cache=True, inline="always")
def _window(centre, sigma, first, last, reach):  # type: ignore[no-untyped-def]
    """Return begin and end (exclusive) of the steps within `reach` deviations, inside [first, last]."""
    middle, half = int(np.rint(centre)), math.ceil(reach * sigma)
    begin = max(min(middle - half, last), first)
    return begin, max(min(middle + half, last), begin) + 1


@njit(cache=True)
def add_usage(mu, sigma, table, unit, reach, changes):  # type: ignore[no-untyped-def]
    """Add the expected usage changes of operations to `changes`, flat over resources and steps.

    Where all occupancies are 1 (`unit`), these are shares of starts, which are usage itself.
    """
    ops, first, last, row, occupancy, weight = table
    for k in range(len(ops)):
        centre, scale = float(mu[ops[k]]), 1 / float(sigma[ops[k]])
        begin, end = _window(centre, float(sigma[ops[k]]), first[k], last[k], reach)
        before = 0.0
        for cell in range(begin, end):
            below = 1.0
            if cell < end - 1:
                below, _ = cdf_and_density((cell + 0.5 - centre) * scale)
            amount = (below - before) * weight[k]
            changes[row[k] + cell] += amount
            if not unit:
                changes[row[k] + cell + occupancy[k]] -= amount
            before = below


@njit(cache=True, inline="always")
def _worth(grad, at, occupancy, unit):  # type: ignore[no-untyped-def]
    """Return the gradient by the share of starts in a cell."""
    return float(grad[at]) if unit else float(grad[at]) - float(grad[at + occupancy])


@njit(cache=True)
def pull_usage(mu, sigma, table, unit, reach, grad, to_mu, to_sigma):  # type: ignore[no-untyped-def]
    """Add the gradients of `add_usage`, given that of its changes; summed over window edges, by parts."""
    ops, first, last, row, occupancy, weight = table
    for k in range(len(ops)):
        op = ops[k]
        centre, scale = float(mu[op]), 1 / float(sigma[op])
        begin, end = _window(centre, float(sigma[op]), first[k], last[k], reach)
        value = _worth(grad, row[k] + begin, occupancy[k], unit)
        by_mu = by_sigma = 0.0
        for cell in range(begin, end - 1):
            following = _worth(grad, row[k] + cell + 1, occupancy[k], unit)
            z = (cell + 0.5 - centre) * scale
            _, density = cdf_and_density(z)
            pull = (following - value) * density
            by_mu += pull
            by_sigma += pull * z
            value = following
        to_mu[op] += by_mu * weight[k] * scale
        to_sigma[op] += by_sigma * weight[k] * scale


@njit(cache=True, inline="always")
def _last_uses(mu, sigma, v, offsets, user, shift, first, last, reach):  # type: ignore[no-untyped-def]
    """Return begin and end of the window in which the last use of a value is looked for."""
    centre, widest = -np.inf, 0.0
    for e in range(offsets[v], offsets[v + 1]):
        centre = max(centre, float(mu[user[e]]) + shift[e])
        widest = max(widest, float(sigma[user[e]]))
    return _window(centre, widest, first[v], last[v], reach)


@njit(cache=True, inline="always")
def _all_started(mu, sigma, v, edge, offsets, user, shift, late):  # type: ignore[no-untyped-def]
    """Return the probability that all uses of a value lie before an edge of its window."""
    product = 1.0
    for e in range(offsets[v], offsets[v + 1]):
        if edge <= late[e]:  # clipped: it has started by its ALAP
            below, _ = cdf_and_density((edge - float(mu[user[e]]) - shift[e]) / float(sigma[user[e]]))
            product *= below
    return product


@njit(cache=True)
def take_deaths(mu, sigma, table, reach, changes):  # type: ignore[no-untyped-def]
    """Subtract the bits of values from `changes` where their last uses are expected."""
    offsets, user, shift, late, first, last, bits = table
    for v in range(len(bits)):
        begin, end = _last_uses(mu, sigma, v, offsets, user, shift, first, last, reach)
        before = 0.0
        for cell in range(begin, end):
            over = 1.0
            if cell < end - 1:
                over = _all_started(mu, sigma, v, cell + 0.5, offsets, user, shift, late)
            changes[cell] -= (over - before) * bits[v]
            before = over


@njit(cache=True)
def pull_deaths(mu, sigma, table, reach, grad, to_mu, to_sigma):  # type: ignore[no-untyped-def]
    """Add the gradients of `take_deaths`, given that of its changes."""
    offsets, user, shift, late, first, last, bits = table
    for v in range(len(bits)):
        begin, end = _last_uses(mu, sigma, v, offsets, user, shift, first, last, reach)
        for cell in range(begin, end - 1):
            pull = (float(grad[cell + 1]) - float(grad[cell])) * bits[v]
            if pull == 0.0:
                continue
            edge = cell + 0.5
            over = pull * _all_started(mu, sigma, v, edge, offsets, user, shift, late)
            if over == 0.0:
                continue
            for e in range(offsets[v], offsets[v + 1]):
                if edge > late[e]:
                    continue
                op = user[e]
                scale = 1 / float(sigma[op])
                z = (edge - float(mu[op]) - shift[e]) * scale
                below, density = cdf_and_density(z)
                slope = over * density / max(below, _TINY) * scale
                to_mu[op] -= slope
                to_sigma[op] -= slope * z


@njit(cache=True)
def excess(mu, sigma, table, value, slopes):  # type: ignore[no-untyped-def]
    """Write ``m F(m / s) + s (f(m / s) - f(0))`` of each edge, and its derivatives by m and by s / s."""
    src, dst, lag = table
    by_mean, by_deviation = slopes
    for e in range(len(src)):
        one, other = float(sigma[src[e]]), float(sigma[dst[e]])
        mean = float(mu[src[e]]) + lag[e] - float(mu[dst[e]])
        deviation = math.sqrt(one * one + other * other)
        below, density = cdf_and_density(mean / deviation)
        value[e] = mean * below + deviation * (density - _DENSITY_AT_0)
        by_mean[e] = below
        by_deviation[e] = (density - _DENSITY_AT_0) / deviation


@njit(cache=True)
def pull_excess(sigma, table, grad, slopes, to_mu, to_sigma):  # type: ignore[no-untyped-def]
    """Add the gradients of `excess`, given that of its values."""
    src, dst, _ = table
    by_mean, by_deviation = slopes
    for e in range(len(src)):
        pull = grad[e] * by_mean[e]
        to_mu[src[e]] += pull
        to_mu[dst[e]] -= pull
        widen = grad[e] * by_deviation[e]
        to_sigma[src[e]] += widen * sigma[src[e]]
        to_sigma[dst[e]] += widen * sigma[dst[e]]
