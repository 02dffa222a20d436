"""List scheduling: the ready operation with the least mobility goes first, as long as there are free units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gaus_lab.analysis import alap, asap, critical_path_length
from gaus_lab.bounds import peak_bound
from gaus_lab.checks import integer, short
from gaus_lab.errors import SolverError
from gaus_lab.graph import Graph
from gaus_lab.problem import LatencyProblem, Problem, ResourceProblem
from gaus_lab.run import Run
from gaus_lab.solvers.list_pass import UNLIMITED, ListPass, rank_by

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class ListScheduling:
    """List scheduling, forwards and backwards in time.

    One pass walks through the steps. The operations whose operands are there wait in a list; as long as units are
    free, the one with the least mobility among those that fit starts. At step t the mobility is ALAP - t, so the
    order is that of ALAP, which is the order of the longest path to a sink. A backward pass does the same on the
    reversed graph and places operations near their consumers.

    Formulation R: a forward and a backward pass, then again with the starts of the pass before as priorities, as
    long as the makespan falls. A and B: the passes get caps on the peak usage in place of limits (or below them),
    and an operation that has reached its ALAP starts whatever the cap says, so that every pass meets the horizon.
    The smallest caps that hold are sought by bisection, all resources on one scale first, then each by itself,
    then a few steps below. Every pass is offered, so communication and footprint are taken into account by choice
    among the passes only.

    Optimality: none. Time O((n + m) log n) and memory O(n + m) a pass, whatever the horizon and the latencies.
    Deterministic; the seed has no effect. Each pass counts as a step of the run. It fails if limits bind and no
    pass meets both them and the horizon.

    Parameters
    ----------
    priority : tuple of str, optional
        Names of all operations, first to be served first, in place of the order by mobility.
    backwards : bool
        Whether backward passes are made.
    passes : int >= 1
        Largest number of passes.

    Raises
    ------
    SolverError
        A setting is out of range.

    References
    ----------
    Hu, "Parallel sequencing and assembly line problems", Operations Research 9(6), 1961. Li, Willis, "An iterative
    scheduling technique for resource-constrained project scheduling", European Journal of Operational Research
    56(3), 1992 (backward passes). De Micheli, "Synthesis and Optimization of Digital Circuits", McGraw-Hill 1994,
    section 5.4.3.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> problem = gl.LatencyProblem(gl.load("hal"), limits={"MUL": 2, "ALU": 1})
    >>> gl.solve(problem, ListScheduling()).objective
    8
    """

    priority: tuple[str, ...] | None = None
    backwards: bool = True
    passes: int = 400

    name: ClassVar[str] = "list"
    formulations: ClassVar[frozenset[str]] = frozenset("ABR")

    def __post_init__(self) -> None:
        integer(self.passes, "passes", 1, SolverError)
        if not isinstance(self.backwards, bool):
            raise SolverError(f"backwards must be True or False, got {short(self.backwards)}")
        if self.priority is not None:
            if isinstance(self.priority, str) or not all(isinstance(op, str) for op in self.priority):
                raise SolverError(f"priority must be a tuple of operation names, got {short(self.priority)}")
            object.__setattr__(self, "priority", tuple(self.priority))

    def run(self, problem: Problem, run: Run) -> None:
        """Offer the schedule of every pass."""
        graph = problem.graph
        given = None if self.priority is None else _given_rank(graph, self.priority)
        if isinstance(problem, LatencyProblem):
            _shorten(problem, run, given, self)
        else:
            _level(problem, run, given, self)


def _given_rank(graph: Graph, priority: tuple[str, ...]) -> IntArray:
    if sorted(priority) != sorted(graph.ops):
        wrong = set(graph.ops).symmetric_difference(priority)
        which = f"{short(min(wrong))} is missing or unknown" if wrong else "a name is there twice"
        raise SolverError(
            f"priority must name each of the {graph.n_ops} operations of graph {graph.name!r} once: {which}"
        )
    rank = np.empty(graph.n_ops, dtype=np.int64)
    rank[[graph.index(op) for op in priority]] = np.arange(graph.n_ops)
    return rank


def _caps(problem: Problem) -> IntArray:
    """Return the limit of each resource, or a number that is none."""
    assert problem.limits is not None
    return np.asarray(
        [problem.limits.get(r, UNLIMITED) for r in problem.graph.resources],
        dtype=np.int64,
    )


# ---- formulation R: the shortest makespan under limits ----------------------------------------------------


def _shorten(problem: LatencyProblem, run: Run, given: IntArray | None, settings: ListScheduling) -> None:
    """Forward and backward passes in turn; each takes its order from the pass before, until none is shorter."""
    graph, caps = problem.graph, _caps(problem)
    forwards = ListPass(graph)
    rank = rank_by(alap(graph, critical_path_length(graph))) if given is None else given
    start, _ = forwards(rank, caps)
    _offer(run, start)
    if not settings.backwards:
        return
    backwards = ListPass(graph, backwards=True)
    rank = rank_by(-(asap(graph) + graph.occupancy)) if given is None else graph.n_ops - 1 - given
    start, _ = backwards(rank, caps)
    _offer(run, start)
    turn, fruitless = 0, 0
    while given is None and fruitless < 2 and run.steps < settings.passes and not run.stopped:
        if turn % 2 == 0:
            start, _ = forwards(rank_by(start), caps)
        else:
            start, _ = backwards(rank_by(-(start + graph.occupancy)), caps)
        fruitless = 0 if _offer(run, start) else fruitless + 1
        turn += 1


def _offer(run: Run, start: IntArray) -> bool:
    kept = run.offer(start)
    run.step()
    return kept


# ---- formulations A and B: the smallest caps within the horizon ---------------------------------------------


def _level(problem: Problem, run: Run, given: IntArray | None, settings: ListScheduling) -> None:
    assert problem.horizon is not None
    graph, horizon = problem.graph, problem.horizon
    early, late = asap(graph), alap(graph, horizon)
    least = peak_bound(graph, horizon)
    floor = np.asarray([least[resource] for resource in graph.resources], dtype=np.int64)
    rank = rank_by(late, early) if given is None else given
    forwards = ListPass(graph)
    _CapSearch(run, settings.passes, _prices(problem), lambda caps: forwards(rank, caps, late)).search(
        floor, _caps(problem)
    )
    if settings.backwards:
        back_rank = rank_by(-(early + graph.occupancy), -late) if given is None else graph.n_ops - 1 - given
        backwards = ListPass(graph, backwards=True)
        _CapSearch(
            run,
            settings.passes,
            _prices(problem),
            lambda caps: backwards(back_rank, caps, early, horizon),
        ).search(floor, _caps(problem))


def _prices(problem: Problem) -> list[int]:
    """Return what a unit of each resource costs; B, which has no prices, gains by narrow schedules too."""
    if not isinstance(problem, ResourceProblem):
        return [1] * len(problem.graph.resources)
    assert isinstance(problem.resource_weights, Mapping)
    return [problem.resource_weights.get(resource, 0) for resource in problem.graph.resources]


class _CapSearch:
    """Seeks the smallest caps that the passes of one direction can keep within the horizon, and offers every pass.

    Bisection takes it for granted that larger caps hold if smaller ones do. That is not quite so: a few caps below
    the smallest that holds are tried too.
    """

    below = 2

    def __init__(
        self,
        run: Run,
        passes: int,
        prices: list[int],
        one_pass: Callable[[IntArray], tuple[IntArray, IntArray]],
    ) -> None:
        self.run, self.passes, self.prices, self.one_pass = (
            run,
            passes,
            prices,
            one_pass,
        )

    def search(self, floor: IntArray, ceiling: IntArray) -> None:
        """Search between proven bounds and the limits; a resource without price has its limit for a cap."""
        _, peaks = self._pass(ceiling)
        free = np.asarray(self.prices) == 0
        high = np.where(free, ceiling, np.minimum(peaks, ceiling))
        low = np.where(free, ceiling, np.minimum(floor, high))
        caps = self._together(low, high)
        if np.count_nonzero(low < high) > 1:
            self._apart(low, caps)

    def _together(self, low: IntArray, high: IntArray) -> IntArray:
        """Return the smallest caps that hold on the straight line from `low` to `high`."""
        n = int((high - low).max(initial=0))
        # Python integers: a width times a width may leave 64 bits.
        width = (high - low).astype(object)

        def caps_at(k: int) -> IntArray:
            return high - (width * (n - k) // n).astype(np.int64)

        k = self._bisect(caps_at, n)
        return caps_at(k) if n else high

    def _apart(self, low: IntArray, caps: IntArray) -> None:
        """Lower one cap at a time, the dearest first, until none can be lowered."""
        changed = True
        while changed and not self._over:
            changed = False
            worth = [price * int(width) for price, width in zip(self.prices, caps - low, strict=True)]
            for resource in sorted(range(len(worth)), key=lambda r: -worth[r]):

                def caps_at(k: int, resource: int = resource, caps: IntArray = caps) -> IntArray:
                    lowered = caps.copy()
                    lowered[resource] = low[resource] + k
                    return lowered

                k = self._bisect(caps_at, int(caps[resource] - low[resource]))
                changed |= caps_at(k)[resource] < caps[resource]
                caps = caps_at(k)

    def _bisect(self, caps_at: Callable[[int], IntArray], n: int) -> int:
        """Return the smallest k below n whose caps hold as far as tried, n if none does."""
        fails, holds = -1, n
        while holds - fails > 1 and not self._over:
            middle = (fails + holds) // 2
            if self._pass(caps_at(middle))[0]:
                holds = middle
            else:
                fails = middle
        for k in range(fails - 1, max(fails - 1 - self.below, -1), -1):
            if self._over:
                break
            if self._pass(caps_at(k))[0]:
                return k
        return holds

    def _pass(self, caps: IntArray) -> tuple[bool, IntArray]:
        """Make a pass, offer its schedule, and return whether the caps held, and the peaks."""
        start, peaks = self.one_pass(caps)
        _offer(self.run, start)
        return bool((peaks <= caps).all()), peaks

    @property
    def _over(self) -> bool:
        return self.run.steps >= self.passes or self.run.stopped
