"""What a graph says before any schedule is made: earliest and latest starts, critical path, bounds on ii.

All results are exact integers. Every pass is linear in operations plus edges, except where a bound says more.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gaus_lab.checks import integer
from gaus_lab.errors import ProblemError
from gaus_lab.exact import product, total
from gaus_lab.graph import Graph
from gaus_lab.recurrence import longest_starts, rec_mii

__all__ = [
    "alap",
    "asap",
    "critical_path",
    "critical_path_length",
    "mii",
    "mobility",
    "rec_mii",
    "res_mii",
]

IntArray = NDArray[np.int64]


def asap(graph: Graph, ii: int | None = None) -> IntArray:
    """Return the earliest start of every operation.

    Parameters
    ----------
    graph : Graph
    ii : int, optional
        Initiation interval in steps. Without it loop-carried edges (distance >= 1) do not count, since iterations
        do not overlap.

    Returns
    -------
    int array of shape (n_ops,), steps from 0

    Raises
    ------
    ProblemError
        `ii` is no integer >= 1, or below RecMII: the message names a recurrence that it breaks.

    Examples
    --------
    >>> asap(Graph.build(["a", "b", "c"], [("a", "b"), ("b", "c")])).tolist()
    [0, 1, 2]
    """
    return longest_starts(graph, ii)


def alap(graph: Graph, horizon: int, ii: int | None = None) -> IntArray:
    """Return the latest start of every operation with which all of them end within the horizon.

    An operation ends ``max(latency, 1)`` steps after its start, so one of latency 0 starts before the horizon.

    Parameters
    ----------
    graph : Graph
    horizon : int >= 0, steps
    ii : int, optional
        As for `asap`.

    Returns
    -------
    int array of shape (n_ops,), steps; negative where the horizon is too short

    Raises
    ------
    ProblemError
        `horizon` is no integer >= 0, or as for `asap`.

    Examples
    --------
    >>> alap(Graph.build(["a", "b", "c"], [("a", "b")]), horizon=4).tolist()
    [2, 3, 3]
    """
    return integer(horizon, "horizon", 0, ProblemError) - longest_starts(graph, ii, backwards=True)


def mobility(graph: Graph, horizon: int, ii: int | None = None) -> IntArray:
    """Return ALAP - ASAP of every operation, steps; 0 for the operations that cannot move."""
    return alap(graph, horizon, ii) - asap(graph, ii)


def critical_path_length(graph: Graph, ii: int | None = None) -> int:
    """Return the smallest horizon that the dependences allow, steps; 0 for an empty graph.

    Examples
    --------
    >>> critical_path_length(Graph.build([{"name": "a", "latency": 2}, "b"], [("a", "b")]))
    3
    """
    return int((asap(graph, ii) + graph.span).max(initial=0))


def critical_path(graph: Graph) -> list[int]:
    """Return the operations of one longest path, as indices in dependence order; [] for an empty graph."""
    if not graph.n_ops:
        return []
    early = asap(graph)
    op = int(np.argmax(early + graph.span))
    path = [op]
    offsets, edges = graph.in_edges
    while True:
        into = edges[offsets[op] : offsets[op + 1]]
        into = into[graph.distance[into] == 0]
        tight = into[early[graph.src[into]] + graph.lag[into] == early[op]]
        if not len(tight):
            return path[::-1]
        op = int(graph.src[tight[0]])
        path.append(op)


def res_mii(graph: Graph, limits: Mapping[str, int] | None = None) -> int:
    """Return the resource bound on ii: the largest ``ceil(sum of weight * occupancy / limit)``; 0 without limits.

    Parameters
    ----------
    graph : Graph
    limits : mapping of resource to units >= 1, default ``graph.limits``

    Raises
    ------
    ProblemError
        A limit on a resource in use is no integer >= 1.

    References
    ----------
    Rau, "Iterative modulo scheduling", MICRO 1994, section 2.

    Examples
    --------
    >>> res_mii(Graph.build(["a", "b", "c"], limits={"op": 2}))
    2
    """
    limits = graph.limits if limits is None else limits
    work = resource_work(graph)
    needed = [0]
    for resource, units in limits.items():
        if resource in work:
            units = integer(units, f"limit of {resource}", 1, ProblemError)
            needed.append(int(-(-work[resource] // units)))
    return max(needed)


def resource_work(graph: Graph) -> dict[str, int]:
    """Return the sum of ``weight * occupancy`` per resource, in unit-steps; exact for integer weights."""
    energy = product(graph.weight, graph.occupancy)
    return {resource: total(energy[graph.ops_on(resource)]) for resource in graph.resources}


def mii(graph: Graph, limits: Mapping[str, int] | None = None) -> int:
    """Return the lower bound on ii: the largest of ResMII, RecMII and 1. The smallest feasible ii may be larger.

    Examples
    --------
    >>> loop = Graph.build(["a", "b"], [("a", "b"), {"src": "b", "dst": "a", "distance": 1}])
    >>> rec_mii(loop), res_mii(loop, {"op": 1}), mii(loop)
    (2, 2, 2)
    """
    return max(res_mii(graph, limits), rec_mii(graph), 1)


def path_text(graph: Graph, path: list[int], most: int = 6) -> str:
    """Return ``a -> b -> d`` for a message, with the middle left out of a long path."""
    names = [graph.ops[i] for i in path]
    if len(names) > most:
        names = [*names[: most // 2], "...", *names[-(most // 2) :]]
    return " -> ".join(names)


def check_horizon(graph: Graph, horizon: int, ii: int | None = None) -> str | None:
    """Return why no schedule fits in the horizon as far as the dependences say, None if they allow one."""
    try:
        length = critical_path_length(graph, ii)
    except ProblemError as error:
        return str(error)
    if length <= horizon:
        return None
    text = f"the horizon is {horizon} steps, the dependences need {length}"
    if ii is None:
        text += f" along {path_text(graph, critical_path(graph))}"
    return f"{text}; use a horizon of {length} or more"
