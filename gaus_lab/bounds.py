"""Proven lower bounds on what any schedule within a horizon can reach; integers, for integer weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.analysis import alap, asap, critical_path_length, resource_work
from gaus_lab.difference_bound import Differences, least_differences, solvable
from gaus_lab.exact import product, summable, total
from gaus_lab.graph import Graph
from gaus_lab.profile import fold, occupied

IntArray = NDArray[np.int64]

#: Interval bounds look at no more than this many interval begins; a sample of them is still a bound.
MAX_INTERVAL_BEGINS = 4096


def peak_bound(graph: Graph, horizon: int) -> dict[str, int]:
    """Return for each resource a lower bound on its peak usage in any schedule within the horizon, units.

    Interval (energy) bound: operations that cannot but run inside steps [a, b) need ``ceil(sum of weight *
    occupancy / (b - a))`` units. The whole horizon is one such interval. To it comes the profile of the steps in
    which an operation is busy wherever it starts.

    Notes
    -----
    Time is O(n + D**2) in array operations of length D, the number of different latest ends, for at most
    `MAX_INTERVAL_BEGINS` interval begins.

    References
    ----------
    Baptiste, Le Pape, Nuijten, "Constraint-Based Scheduling", Kluwer 2001, chapter 3 (energetic reasoning).

    Examples
    --------
    >>> peak_bound(Graph.build(["a", "b", "c"]), horizon=2)
    {'op': 2}
    """
    early, late = asap(graph), alap(graph, horizon)
    result = {}
    for resource in graph.resources:
        ops = _working(graph, resource)
        occupancy, weight = graph.occupancy[ops], graph.weight[ops]
        first, last = early[ops], late[ops] + occupancy
        fixed = last - occupancy < first + occupancy
        compulsory = occupied((last - occupancy)[fixed], (first + occupancy)[fixed], weight[fixed])
        energy = _interval_bound(first, last, summable(product(weight, occupancy)))
        result[resource] = max(energy, _round_up(compulsory.peak), _round_up(weight.max(initial=0)))
    return result


def modulo_peak_bound(graph: Graph, horizon: int, ii: int) -> dict[str, int]:
    """Return for each resource a lower bound on its peak usage in any loop schedule at `ii` within the horizon, units.

    In the steady state every operation runs once in its window and again, ii steps later, in the next one: two turns
    of these windows are the jobs of an interval bound. To it come even usage of the ii slots, and the folded profile of
    the steps in which an operation is busy wherever it starts.

    Raises
    ------
    ProblemError
        `ii` is below RecMII.

    Examples
    --------
    >>> modulo_peak_bound(Graph.build("abc"), horizon=1, ii=3)  # all start in step 0, one slot of three
    {'op': 3}
    """
    early, late = asap(graph, ii), alap(graph, horizon, ii)
    result = {}
    for resource in graph.resources:
        ops = _working(graph, resource)
        occupancy, weight = graph.occupancy[ops], graph.weight[ops]
        energy = summable(product(weight, occupancy))
        first = early[ops] % ii
        last = first + (late[ops] - early[ops]) + occupancy
        turns = np.concatenate([first, first + ii]), np.concatenate([last, last + ii])
        fixed = last - occupancy < first + occupancy
        compulsory = fold((last - occupancy)[fixed], (first + occupancy)[fixed], weight[fixed], ii)
        in_turns = _interval_bound(*turns, np.concatenate([energy, energy]))
        even = -(-total(energy) // ii)
        largest = _round_up(weight.max(initial=0))
        result[resource] = max(even, in_turns, _round_up(compulsory.peak), largest)
    return result


def _working(graph: Graph, resource: str) -> IntArray:
    """Return the operations that use some of a resource for some time."""
    ops = graph.ops_on(resource)
    return ops[(graph.occupancy[ops] > 0) & (graph.weight[ops] > 0)]


def _interval_bound(first: IntArray, last: IntArray, energy: NDArray[Any]) -> int:
    """Return the largest ``ceil(energy inside [a, b) / (b - a))`` over begins a and ends b."""
    if not len(first):
        return 0
    begins = np.unique(first)
    if len(begins) > MAX_INTERVAL_BEGINS:
        begins = begins[np.linspace(0, len(begins) - 1, MAX_INTERVAL_BEGINS).astype(np.int64)]
    ends, end_index = np.unique(last, return_inverse=True)
    by_begin = np.argsort(-first, kind="stable")
    edges = np.searchsorted(-first[by_begin], -begins, side="right")
    inside = np.zeros(len(ends), dtype=energy.dtype)
    done, best = 0, 0
    for begin, upto in zip(begins[::-1].tolist(), edges[::-1].tolist(), strict=True):
        added = by_begin[done:upto]
        np.add.at(inside, end_index[added], energy[added])
        done = upto
        usable = int(np.searchsorted(ends, begin, side="right"))
        work = np.cumsum(inside)[usable:]
        if len(work):
            # ceil(work / length) as exact integers; the fraction's ceiling is largest where the quotient is.
            length = ends[usable:] - begin
            best = max(best, int((-(-work // length)).max()))
    return best


def _round_up(value: float) -> int:
    return int(-(-value // 1))


def communication_bound(graph: Graph, horizon: int) -> int:
    """Return a lower bound on the communication of any schedule within the horizon, in boundaries times cost.

    The least communication under the dependences alone is a linear program over differences (the dual of a
    minimum-cost flow), whose optimum is an integer; it is solved up to `MAX_DIFFERENCES` edges. Beyond, every edge
    counts with the least span it can have: ``max(lag, ASAP[v] - ALAP[u])``.

    References
    ----------
    Ahuja, Magnanti, Orlin, "Network Flows", Prentice Hall 1993, section 9.4 (dual of minimum-cost flow).

    Examples
    --------
    >>> communication_bound(Graph.build(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")]), horizon=9)
    4
    """
    edges = np.flatnonzero(graph.distance == 0)
    early, late = asap(graph), alap(graph, horizon)
    src, dst, lag, cost = graph.src[edges], graph.dst[edges], graph.lag[edges], graph.cost[edges]
    simple = total(product(cost, np.maximum(lag, early[dst] - late[src])))
    if not solvable(len(edges)):
        return simple
    return max(simple, least_differences(Differences(src, dst, lag, cost, early, late)) or 0)


def footprint_bound(graph: Graph, horizon: int) -> int:
    """Return a lower bound on the footprint of any schedule within the horizon, bits.

    Three facts hold in every schedule: on the boundary before an operation starts, all values that it waits for are
    live; a value is live between its latest birth and the earliest start of its last consumer; and the lifetimes
    together are no shorter than dependences allow (`lifetime_bound`), on the ``horizon - 1`` boundaries between steps.
    """
    edges = np.flatnonzero(graph.distance == 0)
    even = -(-lifetime_bound(graph, horizon) // max(horizon - 1, 1))
    return max(_operand_bound(graph, edges), _compulsory_bound(graph, horizon, edges), even)


def lifetime_bound(graph: Graph, horizon: int, ii: int | None = None) -> int:
    """Return a lower bound on the summed lifetimes of all values with consumers, bits times boundaries.

    A linear program over differences: each value has a death, no earlier than any consumer's start, ``distance * ii``
    later in a loop. 0 where that is too large to solve.

    References
    ----------
    Govindarajan, Altman, Gao, "Minimizing register requirements under resource-constrained rate-optimal software
    pipelining", MICRO-27, 1994 (buffers as a linear program over differences).

    Examples
    --------
    >>> lifetime_bound(Graph.build(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")]), horizon=9)
    3
    """
    edges = np.flatnonzero(graph.distance == 0) if ii is None else np.arange(graph.n_edges)
    if not len(edges) or graph.bits.dtype.kind == "f":
        return 0
    n, born = graph.n_ops, np.maximum(graph.latency - 1, 0)
    src, dst = graph.src[edges], graph.dst[edges]
    makers = np.unique(src)
    turns = product(graph.distance[edges], ii or 0)
    if (
        not solvable(2 * len(edges) + len(makers))
        or turns.dtype == object
        or int(turns.max(initial=0)) > 2**50
    ):
        return 0
    death = np.zeros(n, dtype=np.int64)
    death[makers] = n + np.arange(len(makers))
    early, late = asap(graph, ii), alap(graph, horizon, ii)
    first, last = (early + born)[makers], (late + born)[makers]
    np.maximum.at(first, death[src] - n, early[dst] + turns)
    np.maximum.at(last, death[src] - n, late[dst] + turns)
    nothing = np.zeros(len(edges), dtype=np.int64)
    system = Differences(
        np.concatenate([src, dst, makers]),
        np.concatenate([dst, death[src], death[makers]]),
        np.concatenate([graph.lag[edges] - turns, turns, born[makers]]),
        np.concatenate([nothing, nothing, graph.bits[makers]]),
        np.concatenate([early, first]),
        np.concatenate([late, last]),
    )
    spans = least_differences(system)
    return 0 if spans is None else spans - total(product(graph.bits[makers], born[makers]))


def _operand_bound(graph: Graph, edges: IntArray) -> int:
    """Return the most bits that one operation's operands have; those waited for at least one boundary."""
    waits = edges[graph.lag[edges] >= np.maximum(graph.latency[graph.src[edges]], 1)]
    pairs = np.unique(np.column_stack([graph.dst[waits], graph.src[waits]]), axis=0)
    bits = np.zeros(graph.n_ops, dtype=graph.bits.dtype)
    np.add.at(bits, pairs[:, 0], graph.bits[pairs[:, 1]])
    return _round_up(bits.max(initial=0))


def _compulsory_bound(graph: Graph, horizon: int, edges: IntArray) -> int:
    early, late = asap(graph), alap(graph, horizon)
    born = late + np.maximum(graph.latency - 1, 0)
    used = np.full(graph.n_ops, np.iinfo(np.int64).min)
    np.maximum.at(used, graph.src[edges], early[graph.dst[edges]])
    live = np.flatnonzero(used > born)
    return _round_up(occupied(born[live], used[live], graph.bits[live]).peak)


def modulo_footprint_bound(graph: Graph, ii: int, horizon: int | None = None) -> int:
    """Return a lower bound on the modulo footprint at `ii`, bits.

    A value lives at least as long as its slowest consumer waits, and all of them together as `lifetime_bound` says
    (with a horizon); these boundaries, spread evenly over the ii slots, and the operands of one operation (see
    `footprint_bound`) are bounds.
    """
    births = graph.src
    shortest = np.zeros(graph.n_ops, dtype=np.int64)
    np.maximum.at(shortest, births, graph.lag - np.maximum(graph.latency[births] - 1, 0))
    live = total(product(graph.bits, shortest))
    if horizon is not None:
        live = max(live, lifetime_bound(graph, horizon, ii))
    return max(int(-(-live // ii)), _operand_bound(graph, np.arange(graph.n_edges)))


def makespan_bound(graph: Graph, limits: Mapping[str, int]) -> int:
    """Return a lower bound on the makespan under limits, steps: critical path, and work over units with its ends.

    For each limited resource its operations together need ``ceil(work / limit)`` steps, after the earliest start
    among them; behind the last of them comes at least the shortest of their tails.
    """
    bound = critical_path_length(graph)
    early = asap(graph)
    tail = -alap(graph, 0)
    work = resource_work(graph)
    for resource in graph.resources:
        ops = _working(graph, resource)
        if resource not in limits or not len(ops):
            continue
        busy = -(-work[resource] // limits[resource])
        behind = int((tail[ops] - graph.occupancy[ops]).min())
        bound = max(bound, int(early[ops].min()) + int(busy) + behind)
    return bound
