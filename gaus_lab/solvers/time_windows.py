"""`TimeWindows`: a problem as the exact solvers see it, all in integers: windows, inequalities, lifetimes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaus_lab.analysis import alap, asap
from gaus_lab.problem import FootprintProblem, ModuloProblem, Problem

IntArray = NDArray[np.int64]


class Value(NamedTuple):
    """A value with bits and a lifetime: who makes it, who uses it.

    Attributes
    ----------
    producer : int
    born : int, steps
        From the producer's start to the first boundary on which the value is live.
    uses : tuple of (operation, shift)
        The value is live up to before the largest ``start[operation] + shift``; the shift of a consumer is its
        distance times ii. Without uses the value is held to the horizon. Where a consumer may start before the
        birth, the birth is among the uses, so that no lifetime is negative.
    bits : int
    """

    producer: int
    born: int
    uses: tuple[tuple[int, int], ...]
    bits: int


@dataclass(frozen=True, eq=False)
class TimeWindows:
    """Starts between `early` and `late`, and ``start[src] + lag <= start[dst]`` for every edge that counts.

    Attributes
    ----------
    problem : Problem
    horizon : int, steps
    early, late : int arrays of shape (n_ops,), steps
    src, dst, lag : int arrays of shape (m,)
        `lag` is less ``distance * ii``, so it may be negative.
    """

    problem: Problem
    horizon: int
    early: IntArray
    late: IntArray
    src: IntArray
    dst: IntArray
    lag: IntArray

    @classmethod
    def of(cls, problem: Problem, makespan: int | None = None) -> TimeWindows:
        """Return the windows of a problem.

        Parameters
        ----------
        problem : Problem
        makespan : int, steps, optional
            Only schedules up to this makespan are of interest; needed where the problem has no horizon.
        """
        graph, ii = problem.graph, problem.interval
        horizon = min(h for h in (problem.horizon, makespan, _serial(problem)) if h is not None)
        keep = np.arange(graph.n_edges) if ii is not None else np.flatnonzero(graph.distance == 0)
        lag = graph.lag[keep] - graph.distance[keep] * (ii or 0)
        early, late = asap(graph, ii), alap(graph, horizon, ii)
        return cls(problem, horizon, early, late, graph.src[keep], graph.dst[keep], lag)

    @property
    def moves(self) -> IntArray:
        """Steps by which each start may move: ``late - early``, shape (n_ops,)."""
        return self.late - self.early

    def values(self) -> list[Value]:
        """Return the values that can be live on some boundary."""
        problem = self.problem
        assert isinstance(problem, (FootprintProblem, ModuloProblem))
        graph = problem.graph
        keep = np.flatnonzero(graph.distance == 0) if problem.interval is None else np.arange(graph.n_edges)
        shift = graph.distance[keep] * (problem.interval or 0)
        born = np.maximum(graph.latency - 1, 0)
        hasty = np.unique(self.src[graph.lag[keep] < born[self.src]])
        uses: list[dict[int, int]] = [{} for _ in graph.ops]
        for u, v, steps in zip(self.src.tolist(), self.dst.tolist(), shift.tolist(), strict=True):
            uses[u][v] = max(steps, uses[u].get(v, steps))
        for u in hasty.tolist():
            uses[u][u] = max(int(born[u]), uses[u].get(u, 0))
        return [
            Value(u, int(born[u]), tuple(uses[u].items()), int(graph.bits[u]))
            for u in np.flatnonzero(graph.bits > 0).tolist()
            if uses[u] or problem.hold_outputs
        ]


def _serial(problem: Problem) -> int | None:
    """Return a horizon within which some best schedule ends, if idle steps of all operations are of no use.

    Where iterations overlap a slot may be worth waiting for, so there it is None. Held outputs are live to the
    horizon of the problem, whatever the schedule: they are not worth waiting for either.
    """
    if problem.interval is not None or getattr(problem, "hold_outputs", False):
        return None
    graph = problem.graph
    longest = np.maximum(graph.span, graph.occupancy)
    np.maximum.at(longest, graph.src, graph.lag)
    return int(longest.sum())
