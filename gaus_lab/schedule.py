"""`Schedule`: a start for every operation, and all exact quantities that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.checks import MAX_INTEGER, integer, short
from gaus_lab.errors import ProblemError
from gaus_lab.exact import product, total
from gaus_lab.graph import Graph
from gaus_lab.profile import Profile, fold, occupied

IntArray = NDArray[np.int64]

#: A dense array over steps is refused above this length; `Profile` has no such limit.
MAX_DENSE_STEPS = 2**26


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """A start step for every operation of a graph; legal or not (`verify` judges).

    Parameters
    ----------
    graph : Graph
    start : int array of shape (n_ops,), or mapping of operation name to step
        Steps; negative ones are representable.
    ii : int, optional
        Initiation interval in steps. With it, usage and liveness fold modulo `ii` and loop-carried edges count;
        without it iterations do not overlap, and loop-carried edges (distance >= 1) are left out.

    Raises
    ------
    ProblemError
        A missing or unknown operation, a start that is no integer or beyond 2**42, `ii` below 1.

    Examples
    --------
    >>> graph = Graph.build(["a", "b", "c"], [("a", "c"), ("b", "c")])
    >>> schedule = Schedule(graph, [0, 1, 2])
    >>> schedule.makespan, schedule.peak_usage, schedule.communication, schedule.footprint()
    (3, {'op': 1}, 3, 2)
    """

    graph: Graph
    start: IntArray
    ii: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", _start_array(self.graph, self.start))
        if self.ii is not None:
            object.__setattr__(self, "ii", integer(self.ii, "ii", 1, ProblemError))

    def __repr__(self) -> str:
        ii = "" if self.ii is None else f", II {self.ii}"
        return f"Schedule({self.graph.name!r}, {self.graph.n_ops} operations, makespan {self.makespan}{ii})"

    def start_of(self, op: str | int) -> int:
        """Return the start of one operation, steps."""
        return int(self.start[self.graph.index(op)])

    def to_dict(self) -> dict[str, int]:
        """Return operation name -> start, in the graph's order."""
        return dict(zip(self.graph.ops, self.start.tolist(), strict=True))

    @property
    def end(self) -> IntArray:
        """``start + latency``: the first step in which the result is available; shape (n_ops,)."""
        return self.start + self.graph.latency

    @property
    def makespan(self) -> int:
        """Largest ``start + max(latency, 1)``, steps; 0 for an empty graph."""
        return int((self.start + self.graph.span).max()) if self.graph.n_ops else 0

    @property
    def slot(self) -> IntArray:
        """``start mod ii``, never negative; shape (n_ops,). Equal to `start` without ii."""
        return self.start if self.ii is None else self.start % self.ii

    @property
    def stage(self) -> IntArray:
        """``start // ii``; shape (n_ops,). 0 without ii."""
        return np.zeros_like(self.start) if self.ii is None else self.start // self.ii

    @cached_property
    def edges(self) -> IntArray:
        """Indices of the edges that count: all with ii, those of distance 0 without."""
        graph = self.graph
        return np.arange(graph.n_edges) if self.ii is not None else np.flatnonzero(graph.distance == 0)

    @cached_property
    def edge_span(self) -> NDArray[Any]:
        """``start[v] + distance * ii - start[u]`` of each edge that counts, in the order of `edges`; steps."""
        graph, edges = self.graph, self.edges
        span = self.start[graph.dst[edges]] - self.start[graph.src[edges]]
        return span if self.ii is None else span + product(graph.distance[edges], self.ii)

    # ---- usage --------------------------------------------------------------------------------------------

    @cached_property
    def usage_profiles(self) -> dict[str, Profile]:
        """Usage of each resource over time, or over the slots with ii: the weights of the busy operations."""
        graph = self.graph
        result = {}
        for resource in graph.resources:
            ops = graph.ops_on(resource)
            ops = ops[graph.occupancy[ops] > 0]
            begin = self.start[ops]
            result[resource] = self._profile(begin, begin + graph.occupancy[ops], graph.weight[ops])
        return result

    @property
    def peak_usage(self) -> dict[str, int]:
        """Largest usage of each resource in any step (or slot), units."""
        return {resource: profile.peak for resource, profile in self.usage_profiles.items()}

    def usage(self) -> dict[str, NDArray[Any]]:
        """Return the usage of each resource in every step from 0 to the last busy one, or in every slot."""
        last = max((profile.end for profile in self.usage_profiles.values()), default=0)
        steps = _dense(max(last, self.makespan) if self.ii is None else self.ii)
        return {resource: profile.dense(steps) for resource, profile in self.usage_profiles.items()}

    # ---- values between steps -----------------------------------------------------------------------------

    @property
    def communication(self) -> int:
        """Sum over edges of ``cost * (start[v] + distance * ii - start[u])``: the boundaries that edges cross."""
        return total(product(self.graph.cost[self.edges], self.edge_span))

    def lifetimes(self, hold_outputs_to: int | None = None) -> tuple[IntArray, IntArray]:
        """Return first and one past the last boundary on which each value is live; equal where it never is.

        The value of u is live on the boundaries d with ``start[u] + max(latency[u] - 1, 0) <= d <
        max over consumers (start[v] + distance * ii)``; boundary d lies between steps d and d + 1.

        Parameters
        ----------
        hold_outputs_to : int, optional
            Step to which values without consumers are held; without it they are never live.
        """
        graph, edges = self.graph, self.edges
        born = self.start + np.maximum(graph.latency - 1, 0)
        src = graph.src[edges]
        used = self.start[src] + self.edge_span
        last = np.full(graph.n_ops, np.iinfo(np.int64).min, dtype=used.dtype)
        np.maximum.at(last, src, used)
        if hold_outputs_to is not None:
            last[np.bincount(src, minlength=graph.n_ops) == 0] = hold_outputs_to
        return born, np.maximum(last, born)

    def liveness_profile(self, hold_outputs_to: int | None = None) -> Profile:
        """Return the summed `bits` of the live values over the boundaries (folded with ii)."""
        born, died = self.lifetimes(hold_outputs_to)
        live = np.flatnonzero(died > born)
        return self._profile(born[live], died[live], self.graph.bits[live])

    def liveness(self, hold_outputs_to: int | None = None) -> NDArray[Any]:
        """Return the live bits on every boundary from 0, or on every boundary slot with ii."""
        profile = self.liveness_profile(hold_outputs_to)
        return profile.dense(_dense(max(profile.end, self.makespan) if self.ii is None else self.ii))

    def footprint(self, hold_outputs_to: int | None = None) -> int:
        """Return the largest number of live bits on any boundary (folded modulo ii where there is one)."""
        peak: int = self.liveness_profile(hold_outputs_to).peak
        return peak

    def _profile(self, begin: IntArray, end: IntArray, amount: NDArray[Any]) -> Profile:
        return occupied(begin, end, amount) if self.ii is None else fold(begin, end, amount, self.ii)


def _start_array(graph: Graph, start: Any) -> IntArray:
    if isinstance(start, Mapping):
        unknown = [op for op in start if op not in graph._index_of]
        missing = [op for op in graph.ops if op not in start]
        if unknown or missing:
            which = (
                f"an unknown operation {unknown[0]!r}"
                if unknown
                else f"no start for operation {missing[0]!r}"
            )
            raise ProblemError(
                f"the schedule has {which}; it needs one start for each of {graph.n_ops} operations"
            )
        start = [integer(start[op], f"start of {op}", -MAX_INTEGER, ProblemError) for op in graph.ops]
    values = _as_array(graph, start)
    if values.shape != (graph.n_ops,):
        raise ProblemError(
            f"start must have shape ({graph.n_ops},), one step per operation, got {values.shape}"
        )
    if values.dtype.kind not in "iu":
        values = np.asarray(
            [
                integer(v, f"start of {graph.ops[i]}", -MAX_INTEGER, ProblemError)
                for i, v in enumerate(values.tolist())
            ],
            dtype=np.int64,
        )
    bad = np.flatnonzero((values > MAX_INTEGER) | (values < -MAX_INTEGER))
    if len(bad):
        raise ProblemError(
            f"start of {graph.ops[bad[0]]} must lie within +-2**42, got {short(values[bad[0]].item())}"
        )
    values = values.astype(np.int64)  # a copy: the caller's array may change
    values.setflags(write=False)
    return values


def _as_array(graph: Graph, start: Any) -> NDArray[Any]:
    try:
        return np.asarray(start)
    except ValueError:  # numpy's word for lists of different lengths
        raise ProblemError(
            f"start must have shape ({graph.n_ops},), one step per operation, got {short(start)}"
        ) from None


def _dense(steps: int) -> int:
    if steps > MAX_DENSE_STEPS:
        raise ProblemError(
            f"{steps} steps are too many for an array; use the profiles, which store changes only"
        )
    return max(steps, 0)
