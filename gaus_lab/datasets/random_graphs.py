"""Random graphs with a seed. The same seed gives the same graph on every machine.

All draws are taken from ``numpy.random.Generator(PCG64(seed))`` as doubles in [0, 1) and turned into integers
here: the methods of `Generator` that draw integers or permutations may change between versions of numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.checks import integer
from gaus_lab.datasets.generators import checked_size
from gaus_lab.errors import DatasetError
from gaus_lab.graph import DEFAULT_TYPE, Graph
from gaus_lab.graph.core import PRODUCER_LATENCY

IntArray = NDArray[np.int64]

#: Range of the expected number of edges at an operation of a random workload, in thousandths.
_DEGREES = {False: (500, 10550), True: (500, 3450)}


def random_workload(n: int = 1000, seed: int = 0, *, sparse: bool = False) -> Graph:
    """Return a random graph with the statistics of the RW files.

    What the 18 files of Liu et al. have in common, n being the size in their names:

    - Edges: 2.73 to 2.81 x n, in the sparse files 0.95 to 1.07 x n; no two are parallel.
    - The number of edges at an operation (in and out) is nearly uniform up to 7, in the sparse ones falling;
      about 5.5 % of the operations have none, sparse 19 %, and are left out. What remains has 20 % sources
      and 20 % sinks, sparse 34 % and 34 %.
    - In- and out-degrees are distributed alike and independent but for the place in the order. There are no
      layers, and the numbering is not topological: 57 % of the edges go to a higher number, sparse 67 %.
    - Depth 15 to 22 operations, sparse 8 to 11; hardly growing with n.
    - Exactly ceil(0.6 x operations) weights are 0, the others uniform from 1000 to 5000; exactly ceil(0.6 x
      edges) edge parameters are 0, the others uniform from 10,000 to 50,000.

    A model that fits these: operation i has the expected degree d_i, uniform from 0.5 to 10.55 (sparse: to
    3.45), and a place in a hidden random order; ``sum(d) / 2`` edges join operations drawn with probability
    proportional to d, from the earlier to the later; loops, parallel edges and operations without an edge are
    left out. It does not reproduce how the files number their operations.

    As in the files, an edge parameter > 0 becomes ``cost`` 1, else 0, and ``bits`` is the largest parameter
    of an operation's out-edges, where that is 0, or there are none, 1. The edge attribute ``parameter`` keeps
    it.

    Parameters
    ----------
    n : int, 2 to 1,000,000; about 0.945 n operations remain, sparse 0.81 n
    seed : int, >= 0
    sparse : bool

    Raises
    ------
    DatasetError
        `n` or `seed` is out of range.

    References
    ----------
    M. Liu, Y. Li, J. Yin, Z. Zhang and C. Yu, Differentiable Combinatorial Scheduling at Scale, ICML 2024.

    Examples
    --------
    >>> random_workload(1000, seed=1)
    Graph('random_workload1000_1', 946 operations, 2753 edges)
    """
    n = checked_size(n, "random_workload: n", 2, 10**6)
    rng = _generator(seed, "random_workload: seed")
    low, high = _DEGREES[bool(sparse)]
    expected_degree = low + _below(rng, high - low + 1, n)
    src, dst = _weighted_edges(rng, expected_degree)
    kept, renumbered = np.unique(np.concatenate([src, dst]), return_inverse=True)
    parameter = _mostly_zero(rng, len(src), 10_000, 50_000)
    bits = np.zeros(len(kept), dtype=np.int64)
    np.maximum.at(bits, renumbered[: len(src)], parameter)
    return _graph(
        f"random_workload{n}_{seed}" + ("_sparse" if sparse else ""),
        renumbered[: len(src)],
        renumbered[len(src) :],
        weight=_mostly_zero(rng, len(kept), 1000, 5000),
        bits=np.where(bits > 0, bits, 1),
        cost=(parameter > 0).astype(np.int64),
        edge_attributes={"parameter": dict(enumerate(parameter.tolist()))},
    )


def random_dag(
    n: int = 50,
    edges: int = 100,
    types: Sequence[str] | Mapping[str, Mapping[str, Any]] = (DEFAULT_TYPE,),
    seed: int = 0,
) -> Graph:
    """Return a random graph with a given number of edges, all of which lead to a later operation.

    Each set of edges along the order ``op0, op1, ...`` is equally likely.

    Parameters
    ----------
    n : int, operations, 1 to 1,000,000
    edges : int, 0 to min(n (n - 1) / 2, 10,000,000)
    types : names of types, or dict of type to ``{"latency", "occupancy", "resource"}``
        Each operation has one of them, all equally likely.
    seed : int, >= 0

    Raises
    ------
    DatasetError
        A size or the seed is out of range, or there are no types.

    Examples
    --------
    >>> random_dag(6, 9, types={"mul": {"latency": 2}, "add": {}}, seed=3)
    Graph('random_dag6_9_3', 6 operations, 9 edges)
    """
    n = checked_size(n, "random_dag: n", 1, 10**6)
    pairs = n * (n - 1) // 2
    edges = checked_size(edges, "random_dag: edges", 0, 10**7)
    if edges > pairs:
        raise DatasetError(
            f"random_dag: {n} operations have at most {pairs} edges without a cycle, got {edges}"
        )
    rng = _generator(seed, "random_dag: seed")
    if isinstance(types, str) or not isinstance(types, Sequence | Mapping) or not types:
        raise DatasetError(
            f"random_dag: types must be a sequence of names or a dict, not empty, got {types!r}"
        )
    names = list(types)
    type_index = _below(rng, len(names), n)
    chosen = _distinct(rng, pairs, edges)
    dst = ((1 + np.sqrt(1 + 8 * chosen.astype(np.float64))) / 2).astype(np.int64)
    dst -= dst * (dst - 1) // 2 > chosen  # the square root may be one too large
    src = chosen - dst * (dst - 1) // 2
    op_types = types if isinstance(types, Mapping) else {}
    return Graph.build(
        [{"name": f"op{i}", "type": names[t]} for i, t in enumerate(type_index.tolist())],
        [(f"op{u}", f"op{v}") for u, v in zip(src.tolist(), dst.tolist(), strict=True)],
        name=f"random_dag{n}_{edges}_{seed}",
        op_types=op_types,
    )


def add_recurrences(
    graph: Graph, count: int, seed: int = 0, *, distance: int | tuple[int, int] = 1, longest: int = 8
) -> Graph:
    """Return the graph as a loop body: with `count` more edges of distance >= 1, each closing a cycle.

    Each starts from an operation drawn uniformly and walks 0 to `longest` edges of distance 0 forward, taking
    each way out with equal chance and stopping where there is none; the new edge leads from the end back to
    the beginning. A walk of no edge makes an operation depend on its own value of an earlier iteration, as an
    accumulator does. New edges come after the others, with the producer's latency and cost 1; the operations
    stay as they are.

    Parameters
    ----------
    graph : Graph
    count : int, >= 0
    seed : int, >= 0
    distance : int >= 1, or (lowest, highest)
        Iterations between producer and consumer; drawn uniformly from a range.
    longest : int, >= 0, edges walked at most

    Raises
    ------
    DatasetError
        A value is out of range, or the graph has no operations.

    Examples
    --------
    >>> from gaus_lab.datasets.generators import chain
    >>> loop = add_recurrences(chain(4), 2, seed=1, distance=(1, 3))
    >>> loop.n_edges, loop.distance.tolist()[:3]
    (5, [0, 0, 0])
    """
    count = checked_size(count, "add_recurrences: count", 0, 10**7)
    longest = integer(longest, "add_recurrences: longest", 0, DatasetError)
    low, high = distance if isinstance(distance, tuple) else (distance, distance)
    low = integer(low, "add_recurrences: distance", 1, DatasetError)
    high = integer(high, "add_recurrences: highest distance", low, DatasetError)
    if count and not graph.n_ops:
        raise DatasetError(
            f"add_recurrences: graph {graph.name!r} has no operations to close a cycle through"
        )
    rng = _generator(seed, "add_recurrences: seed")
    first = _below(rng, graph.n_ops, count)
    last = [
        _walk(rng, graph, op, steps) for op, steps in zip(first, _below(rng, longest + 1, count), strict=True)
    ]
    added = {"src": last, "dst": first, "distance": low + _below(rng, high - low + 1, count)}
    return graph.replace(
        **{
            key: np.append(getattr(graph, key), np.asarray(new, dtype=np.int64)) for key, new in added.items()
        },
        edge_latency=np.append(graph.edge_latency, np.full(count, PRODUCER_LATENCY)),
        cost=np.append(graph.cost, np.ones(count, dtype=np.int64)),
    )


def _walk(rng: np.random.Generator, graph: Graph, op: int, steps: int) -> int:
    """Return the operation at the end of a random walk along edges of distance 0."""
    offsets, by_producer = graph.out_edges
    for _ in range(steps):
        out = by_producer[offsets[op] : offsets[op + 1]]
        out = out[graph.distance[out] == 0]
        if not len(out):
            break
        op = graph.dst[out[_below(rng, len(out), 1)[0]]]
    return int(op)


def _generator(seed: object, what: str) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(integer(seed, what, 0, DatasetError)))


def _below(rng: np.random.Generator, bound: int, count: int) -> IntArray:
    """Return `count` integers, uniform from 0 to ``bound - 1``."""
    return (rng.random(count) * bound).astype(np.int64)


def _distinct(rng: np.random.Generator, bound: int, count: int) -> IntArray:
    """Return `count` different integers below `bound`, ascending; each set is equally likely."""
    if count > bound - count:
        left_out = np.ones(bound, dtype=bool)
        left_out[_distinct(rng, bound, bound - count)] = False
        return np.flatnonzero(left_out)
    drawn: dict[int, None] = {}
    while len(drawn) < count:
        drawn.update(dict.fromkeys(_below(rng, bound, count - len(drawn)).tolist()))
    return np.sort(np.fromiter(drawn, dtype=np.int64, count=count))


def _weighted_edges(rng: np.random.Generator, degree: IntArray) -> tuple[IntArray, IntArray]:
    """Return (src, dst) of edges along a hidden random order, with ends drawn in proportion to `degree`."""
    upto = np.cumsum(degree)
    n_edges = int(upto[-1]) // 2000
    ends = np.searchsorted(upto, _below(rng, int(upto[-1]), 2 * n_edges), side="right")
    place = rng.random(len(degree))
    a, b = ends[:n_edges], ends[n_edges:]
    forward = place[a] < place[b]
    src, dst = np.where(forward, a, b), np.where(forward, b, a)
    pairs = np.unique(np.stack([src, dst])[:, src != dst], axis=1)
    return pairs[0], pairs[1]


def _mostly_zero(rng: np.random.Generator, count: int, low: int, high: int) -> IntArray:
    """Return values of which ``ceil(0.6 count)`` at random places are 0, the others uniform in low..high."""
    values = low + _below(rng, high - low + 1, count)
    values[np.argsort(rng.random(count), kind="stable")[: -(-6 * count // 10)]] = 0
    return values


def _graph(name: str, src: IntArray, dst: IntArray, *, weight: IntArray, **columns: Any) -> Graph:
    n, m = len(weight), len(src)
    return Graph(
        name,
        tuple(str(i) for i in range(n)),
        (DEFAULT_TYPE,) if n else (),
        type_index=np.zeros(n, dtype=np.int64),
        latency=np.ones(n, dtype=np.int64),
        occupancy=np.ones(n, dtype=np.int64),
        weight=weight,
        src=src,
        dst=dst,
        distance=np.zeros(m, dtype=np.int64),
        edge_latency=np.full(m, PRODUCER_LATENCY),
        **columns,
    )
