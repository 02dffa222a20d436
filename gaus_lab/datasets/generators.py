"""Graphs of arithmetic kernels in any size.

All use the units of the classical benchmarks: a multiplication takes 2 steps and holds a ``MUL`` for both,
additions and subtractions take 1 step on an ``ALU``. Inputs and coefficients are no operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaus_lab.checks import integer
from gaus_lab.errors import DatasetError
from gaus_lab.graph import Graph, GraphBuilder

#: The operation types of the classical benchmarks, as the graph JSON format writes them.
ARITHMETIC: dict[str, dict[str, Any]] = {
    "mul": {"latency": 2, "occupancy": 2, "resource": "MUL"},
    "add": {"latency": 1, "occupancy": 1, "resource": "ALU"},
    "sub": {"latency": 1, "occupancy": 1, "resource": "ALU"},
}


def checked_size(value: object, what: str, minimum: int, maximum: int) -> int:
    """Return a generator's size as an int; `DatasetError` outside ``minimum .. maximum``."""
    size = integer(value, what, minimum, DatasetError)
    if size > maximum:
        raise DatasetError(
            f"{what} must be <= {maximum}, got {size}: larger graphs do not fit a normal machine"
        )
    return size


def chain(n: int = 8) -> Graph:
    """Return n additions, each of which needs the one before: no parallelism at all.

    Parameters
    ----------
    n : int, operations, 1 to 1,000,000

    Raises
    ------
    DatasetError
        `n` is out of range.

    Examples
    --------
    >>> chain(3).successors("a0")
    ('a1',)
    """
    n = checked_size(n, "chain: n", 1, 10**6)
    builder = GraphBuilder(f"chain{n}", op_types=ARITHMETIC)
    builder.add_op("a0", type="add")
    for i in range(1, n):
        _operation(builder, "add", f"a{i}", f"a{i - 1}")
    return builder.build()


def fir(taps: int = 16, *, chained: bool = False) -> Graph:
    """Return a finite impulse response filter: ``y = sum of c[k] * x[n - k]``.

    `taps` multiplications and ``taps - 1`` additions, as a balanced tree or, chained, one after the other.

    Parameters
    ----------
    taps : int, 1 to 1,000,000
    chained : bool

    Raises
    ------
    DatasetError
        `taps` is out of range.

    References
    ----------
    A. V. Oppenheim and R. W. Schafer, Discrete-Time Signal Processing, Prentice Hall, 1989, direct form.

    Examples
    --------
    >>> fir(16)
    Graph('fir16', 31 operations, 30 edges)
    """
    taps = checked_size(taps, "fir: taps", 1, 10**6)
    builder = GraphBuilder(f"fir{taps}", op_types=ARITHMETIC)
    products = [_operation(builder, "mul", f"m{k}") for k in range(taps)]
    _reduce(builder, "add", "a", products, chained)
    return builder.build()


def fft(points: int = 8) -> Graph:
    """Return a radix-2 fast Fourier transform, decimation in time, one operation per complex value.

    Each of the ``points / 2 * log2(points)`` butterflies adds and subtracts; it multiplies by a twiddle
    factor first, except where that factor is 1, which leaves ``points / 2 * log2(points) - points + 1``
    multiplications.

    Parameters
    ----------
    points : int, a power of 2 from 2 to 65,536

    Raises
    ------
    DatasetError
        `points` is no power of 2, or out of range.

    References
    ----------
    J. W. Cooley and J. W. Tukey, An Algorithm for the Machine Calculation of Complex Fourier Series,
    Mathematics of Computation 19, 1965.

    Examples
    --------
    >>> fft(8)
    Graph('fft8', 29 operations, 37 edges)
    """
    points = checked_size(points, "fft: points", 2, 2**16)
    if points & (points - 1):
        raise DatasetError(f"fft: points must be a power of 2, got {points}")
    builder = GraphBuilder(f"fft{points}", op_types=ARITHMETIC)
    values: list[str | None] = [None] * points  # None: an input, which is no operation
    half = 1
    while half < points:
        for upper in range(points):
            if not upper & half:
                _butterfly(builder, values, upper, half)
        half *= 2
    return builder.build()


def _butterfly(builder: GraphBuilder, values: list[str | None], upper: int, half: int) -> None:
    """Replace ``values[upper]`` and ``values[upper + half]`` by their sum and difference."""
    lower = upper + half
    if upper % half:  # else the twiddle factor is 1
        values[lower] = _operation(builder, "mul", f"m{half}_{lower}", values[lower])
    operands = values[upper], values[lower]
    values[upper] = _operation(builder, "add", f"a{half}_{upper}", *operands)
    values[lower] = _operation(builder, "sub", f"s{half}_{lower}", *operands)


def matmul(n: int = 3, *, chained: bool = False) -> Graph:
    """Return the product of two n x n matrices: n^3 multiplications, n^2 (n - 1) additions.

    Parameters
    ----------
    n : int, 1 to 128
    chained : bool
        Add the n products of an entry one after the other instead of as a balanced tree.

    Raises
    ------
    DatasetError
        `n` is out of range.

    Examples
    --------
    >>> matmul(2)
    Graph('matmul2', 12 operations, 8 edges)
    """
    n = checked_size(n, "matmul: n", 1, 128)
    builder = GraphBuilder(f"matmul{n}", op_types=ARITHMETIC)
    for i in range(n):
        for j in range(n):
            products = [_operation(builder, "mul", f"m{i}_{j}_{k}") for k in range(n)]
            _reduce(builder, "add", f"a{i}_{j}_", products, chained)
    return builder.build()


def adder_tree(leaves: int = 16) -> Graph:
    """Return the balanced sum of some inputs: ``leaves - 1`` additions, depth ``ceil(log2(leaves))``.

    Parameters
    ----------
    leaves : int, 2 to 1,000,000

    Raises
    ------
    DatasetError
        `leaves` is out of range.

    Examples
    --------
    >>> adder_tree(4).predecessors("a2")
    ('a0', 'a1')
    """
    return _tree("adder_tree", "add", "a", leaves)


def multiplier_tree(leaves: int = 16) -> Graph:
    """Return the balanced product of some inputs: `adder_tree` with multiplications of 2 steps.

    Parameters
    ----------
    leaves : int, 2 to 1,000,000

    Raises
    ------
    DatasetError
        `leaves` is out of range.

    Examples
    --------
    >>> multiplier_tree(4).latency.tolist()
    [2, 2, 2]
    """
    return _tree("multiplier_tree", "mul", "m", leaves)


def array_multiplier(bits: int = 4) -> Graph:
    """Return an unsigned carry-save array multiplier at bit level.

    ``bits^2`` AND gates, `bits` half adders and ``bits * (bits - 2)`` full adders, all of latency 1, each
    type a resource of its own. An adder gives two values: the edge attribute ``signal`` is ``carry`` where a
    consumer takes the carry instead of the sum.

    Parameters
    ----------
    bits : int, width of both factors, 2 to 1024

    Raises
    ------
    DatasetError
        `bits` is out of range.

    References
    ----------
    E. L. Braun, Digital Computer Design, Academic Press, 1963.

    Examples
    --------
    >>> array_multiplier(4)
    Graph('array_multiplier4', 28 operations, 32 edges)
    """
    bits = checked_size(bits, "array_multiplier: bits", 2, 1024)
    builder = GraphBuilder(f"array_multiplier{bits}")
    products = [[_operation(builder, "and", f"p{i}_{j}") for j in range(bits)] for i in range(bits)]
    sums = products[0][1:]
    carries: list[str] = []
    for i in range(1, bits):
        row = [
            _adder(builder, f"c{i}_{j}", [products[i][j], sums[j]], carries[j : j + 1])
            for j in range(bits - 1)
        ]
        sums, carries = [*row[1:], products[i][-1]], row
    ripple: list[str] = []
    for j in range(bits - 1):
        ripple = [_adder(builder, f"c{bits}_{j}", sums[j : j + 1], [carries[j], *ripple])]
    return builder.build()


def _adder(builder: GraphBuilder, name: str, sums: Sequence[str], carries: Sequence[str]) -> str:
    """Add a half or full adder of some values or sums and some adders' carries; return its name."""
    builder.add_op(name, type="half_adder" if len(sums) + len(carries) == 2 else "full_adder")
    for producer in sums:
        builder.add_edge(producer, name)
    for producer in carries:
        builder.add_edge(producer, name, signal="carry")
    return name


def _tree(name: str, op_type: str, prefix: str, leaves: int) -> Graph:
    leaves = checked_size(leaves, f"{name}: leaves", 2, 10**6)
    builder = GraphBuilder(f"{name}{leaves}", op_types=ARITHMETIC)
    _reduce(builder, op_type, prefix, [None] * leaves, chained=False)
    return builder.build()


def _reduce(
    builder: GraphBuilder, op_type: str, prefix: str, operands: Sequence[str | None], chained: bool
) -> None:
    """Join the operands by two-operand operations; None is an input, which is no operation."""
    waiting = list(operands)
    count = 0
    while len(waiting) > 1:
        joined = waiting[:2] if chained else waiting[: len(waiting) // 2 * 2]
        rest = waiting[len(joined) :]
        pairs = zip(joined[::2], joined[1::2], strict=True)
        results = [
            _operation(builder, op_type, f"{prefix}{i}", *pair) for i, pair in enumerate(pairs, start=count)
        ]
        count += len(results)
        waiting = [*results, *rest]


def _operation(builder: GraphBuilder, op_type: str, name: str, *operands: str | None) -> str:
    """Add an operation and the edges from its operands, inputs (None) left out; return its name."""
    builder.add_op(name, type=op_type)
    for producer in operands:
        if producer is not None:
            builder.add_edge(producer, name)
    return name
