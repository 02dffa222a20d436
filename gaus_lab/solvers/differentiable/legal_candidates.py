"""From means to candidates: the time-legal schedules behind mu, and the same under lower and lower peaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gaus_lab.problem import ModuloProblem, Problem
from gaus_lab.solvers.differentiable.capacity import UNLIMITED, CapacityRepair
from gaus_lab.solvers.differentiable.legalize import Legalizer
from gaus_lab.solvers.list_pass import ListPass, rank_by
from gaus_lab.solvers.modulo_placement import ModuloPlacement, never

IntArray = NDArray[np.int64]


class Candidates(Protocol):
    """Makes integer schedules from a vector of means."""

    def __call__(self, mu: NDArray[Any], press: float | None = 0.0) -> Iterator[IntArray]:
        """Yield schedules legal in time, and under the limits where the repair succeeds.

        Parameters
        ----------
        mu : array of shape (n_ops,), steps
        press : float or None
            How thorough to be: share of a peak to which a bisection is carried, 0 to the last unit; None for the
            cheapest candidates.
        """


def candidates_of(problem: Problem, early: IntArray, late: IntArray) -> Candidates:
    """Return what makes the candidates of a formulation."""
    if isinstance(problem, ModuloProblem):
        return ModuloCandidates(problem, early, late)
    if problem.formulation == "R":
        return MakespanCandidates(problem)
    return PressedCandidates(problem, early, late)


class ModuloCandidates:
    """For loops: the fixed point of the dependences, then the closest free slots of a modulo reservation table.

    Where the means leave no way into the slots, attempts of iterative modulo scheduling are among the candidates:
    slots are a puzzle that rounding does not solve. Thorough calls shorten the lifetimes of what they found, too.

    Parameters
    ----------
    problem : ModuloProblem
    early, late : int arrays of shape (n_ops,), steps

    Attributes
    ----------
    stopped : callable
        Whether the run is over: on big graphs a placement takes long, and is given up then.
    """

    def __init__(self, problem: ModuloProblem, early: IntArray, late: IntArray) -> None:
        self._legalize = Legalizer(problem.graph, early, late, problem.ii)
        self.placement = ModuloPlacement(problem, np.random.default_rng(0))
        self._attempts = 0
        self.stopped: Callable[[], bool] = never

    def first(self) -> Iterator[IntArray]:
        """Yield what iterative modulo scheduling finds forwards and backwards, also with shorter lifetimes."""
        if not self.placement.table_fits:
            return
        for attempt in range(2):
            if attempt and self.stopped():
                return
            start = self.placement.attempt(attempt, self.stopped if attempt else never)
            if start is not None:
                yield start
                yield self.placement.shortened(start, self.stopped)

    def __call__(self, mu: NDArray[Any], press: float | None = 0.0) -> Iterator[IntArray]:
        """Yield schedules; see `Candidates`."""
        for start in self._legalize(mu):
            placed = self._placed(start)
            if placed is None:
                continue
            yield placed
            if press is not None and self.placement.table_fits:
                yield self.placement.shortened(placed, self.stopped)

    def _placed(self, start: IntArray) -> IntArray | None:
        """Return a schedule under the limits near the given one, or else any; None if there is no way to it."""
        if not self.placement.limited or not self.placement.table_fits:
            return start
        placed = self.placement.near(start, self.stopped)
        if placed is None:
            placed = self.placement.attempt(self._attempts, self.stopped)
            self._attempts += 1
        return placed


class MakespanCandidates:
    """For makespans under limits: list scheduling in the order of the means, and back and forth from there.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        graph, limits = problem.graph, problem.limits or {}
        self._forwards, self._backwards = ListPass(graph), ListPass(graph, backwards=True)
        self._occupancy = graph.occupancy
        self._caps = np.array([limits.get(r, UNLIMITED) for r in graph.resources], dtype=np.int64)

    def __call__(self, mu: NDArray[Any], press: float | None = 0.0) -> Iterator[IntArray]:
        """Yield schedules; see `Candidates`."""
        start, _ = self._forwards(rank_by(mu), self._caps)
        yield start
        last, _ = self._backwards(rank_by(-(mu + self._occupancy)), self._caps)
        yield last
        if press is not None:
            yield self._forwards(rank_by(last), self._caps)[0]
            last, _ = self._backwards(rank_by(-(start + self._occupancy)), self._caps)
            yield last
            yield self._forwards(rank_by(last), self._caps)[0]


class PressedCandidates:
    """Makes the integer schedules that GauS offers from a vector of means.

    Both directions of the time pass; each also with its peaks pressed down, by bisection between the even usage and
    the peak that rounding left: a relaxation is smooth over thousands of steps, and one step in which rounding
    heaps up operations would set the price of the whole schedule.

    Parameters
    ----------
    problem : Problem
        With a finite horizon.
    early, late : int arrays of shape (n_ops,), steps
    """

    def __init__(self, problem: Problem, early: IntArray, late: IntArray) -> None:
        graph, limits = problem.graph, problem.limits or {}
        self._graph = graph
        self._legalize = Legalizer(graph, early, late)
        self._repairs = [CapacityRepair(graph, early, late, backwards) for backwards in (False, True)]
        self._limits = np.array([limits.get(r, UNLIMITED) for r in graph.resources], dtype=np.int64)
        self._presses = problem.formulation == "A"  # elsewhere lower usage is worth nothing
        self._limited = bool((self._limits < UNLIMITED).any())
        steps = max(int((late + graph.span).max(initial=1)), 1)
        # In double precision: products of large weights and occupancies may leave 64 bits. A start of the
        # bisection need not be exact.
        work = np.bincount(
            graph.resource_index, graph.weight.astype(np.float64) * graph.occupancy, len(graph.resources)
        )
        self._even = np.minimum(np.ceil(work / steps), UNLIMITED).astype(np.int64)

    def __call__(self, mu: NDArray[Any], press: float | None = 0.0) -> Iterator[IntArray]:
        """Yield schedules; see `Candidates`."""
        # What was pushed late has room before it, and the other way round.
        for start, repair in zip(self._legalize(mu), self._repairs[::-1], strict=True):
            if not self._limited:
                yield start
            if press is not None and self._presses:
                yield from self._pressed(start, repair, press)
            elif self._limited:
                yield repair(start, self._limits)

    def _pressed(self, start: IntArray, repair: CapacityRepair, share: float) -> Iterator[IntArray]:
        """Yield moved schedules under capacities found by bisection between even usage and the present peak."""
        low, high = self._even, np.minimum(self._peaks(start), self._limits)
        while True:
            middle = (low + high) // 2
            moved = repair(start, middle)
            yield moved
            if (high - low <= np.maximum(1, share * high)).all():
                return
            met = (self._peaks(moved) <= middle).all()
            low, high = (low, middle) if met else (middle, high)

    def _peaks(self, start: IntArray) -> IntArray:
        """Return the peak usage of each resource; one pass over a grid of steps."""
        graph = self._graph
        peaks = np.zeros(len(graph.resources), dtype=np.int64)
        for r in range(len(graph.resources)):
            ops = graph.resource_index == r
            begin, occupancy, weight = start[ops], graph.occupancy[ops], graph.weight[ops]
            size = int((begin + occupancy).max(initial=0)) + 1
            # Sums of integers below 2**53 are exact in the double precision of bincount.
            changes = np.bincount(begin, weight, size) - np.bincount(begin + occupancy, weight, size)
            peaks[r] = round(float(np.cumsum(changes).max(initial=0)))
        return peaks
