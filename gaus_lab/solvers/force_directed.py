"""Force-directed scheduling: operations go one by one where the expected usage is lowest."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gaus_lab.analysis import alap, asap
from gaus_lab.checks import integer, short
from gaus_lab.errors import SolverError
from gaus_lab.graph import Graph
from gaus_lab.problem import Problem, ResourceProblem
from gaus_lab.run import Run
from gaus_lab.solvers.forces import Fixed, Frames, advance, fixed_of_graph, frames_between, survey

IntArray = NDArray[np.int64]

#: Largest product of resources and steps: the distribution graphs are dense in time.
MAX_CELLS = 2**24
#: Frame steps, over all evaluations of a run, that the default number of candidates is made for.
WORK = 10**10
#: Frame steps between two looks at the clock while the first forces are evaluated.
_SURVEY_WORK = 2**25


@dataclass(frozen=True)
class ForceDirected:
    """Force-directed scheduling after Paulin and Knight.

    Each operation counts in every step of its frame, from ASAP to ALAP at first, with the same probability; the
    sum over the operations of a resource is its distribution graph. The force of an operation in a step is the
    change of load that it makes there, plus those that it forces on its direct producers and consumers by cutting
    their frames; a change of load is a change of probabilities times the distribution graph, plus a share of the
    change itself (look-ahead). The operation and step with the least force are fixed, the frames of all that depend
    on it or on which it depends are cut, and so on until nothing can move.

    Objective: the usage of each resource, levelled over time and weighted with its price (A) or evenly (B);
    communication and footprint are not looked at, and neither are limits: where those bind, the schedule may be
    illegal, and no schedule results.

    Optimality: none. With at least n candidates every movable operation is evaluated anew in each iteration, as
    published. With fewer only those are that had the least forces when they were last evaluated, and the search
    ends early where a force is no higher than the last forces of all that follow; the step of the operation that is
    fixed is chosen with present forces in any case.

    With S the sum over operations of frame length times number of neighbours, time is at most O(candidates * S +
    n * (D + c log n)) for c frames cut in an iteration, memory O(n + m + resources * D). Deterministic; the seed has
    no effect. Each operation fixed is a step of the run. A run that is stopped before its end starts the operations
    that are left at their earliest.

    Parameters
    ----------
    candidates : int >= 1, optional
        Operations evaluated in an iteration; by default as many as some 10**10 frame steps in all allow: all of
        them in most graphs of up to a few thousand operations, and never fewer than 4.
    look_ahead : float >= 0
        Share of a change that is added to the distribution graph which it meets, 1/3 as published. Where an
        occupancy is above 1, changes of its steps are taken as independent.

    Raises
    ------
    SolverError
        A setting is out of range; in a run, resources times steps exceed 2**24, since the distribution graphs are
        dense in time.

    References
    ----------
    Paulin, Knight, "Force-directed scheduling for the behavioral synthesis of ASICs", IEEE Trans. CAD 8(6), 1989.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> gl.solve(gl.ResourceProblem(gl.load("hal"), horizon=8), ForceDirected()).objective
    3
    """

    candidates: int | None = None
    look_ahead: float = 1 / 3

    name: ClassVar[str] = "force"
    formulations: ClassVar[frozenset[str]] = frozenset("AB")

    def __post_init__(self) -> None:
        if self.candidates is not None:
            integer(self.candidates, "candidates", 1, SolverError)
        number = isinstance(self.look_ahead, (int, float)) and not isinstance(self.look_ahead, bool)
        if not number or not 0 <= self.look_ahead < math.inf:
            raise SolverError(f"look_ahead must be a finite number >= 0, got {short(self.look_ahead)}")

    def run(self, problem: Problem, run: Run) -> None:
        """Fix all operations one by one, and offer the schedule."""
        fixed, frames = _prepare(problem, self.look_ahead)
        cost = _frame_steps(fixed, frames)
        candidates = self.candidates or max(4, WORK // max(int(cost.sum()), 1))
        candidates = min(candidates, max(problem.graph.n_ops, 1))
        try:
            _evaluate_all(fixed, frames, cost, run)
            _fix_all(fixed, frames, candidates, run)
        finally:  # an interrupt too leaves a schedule
            run.offer(frames.early)


def _prepare(problem: Problem, look_ahead: float) -> tuple[Fixed, Frames]:
    assert problem.horizon is not None
    graph = problem.graph
    # With this many steps each operation can have the units for itself; more would not lower a peak.
    horizon = min(problem.horizon, _serial_steps(graph))
    width = horizon + int(graph.occupancy.max(initial=0)) + 2
    if width * len(graph.resources) > MAX_CELLS:
        raise SolverError(
            f"graph {graph.name!r}: solver force needs an array of {len(graph.resources)} resources x {width} steps, "
            f"more than 2**24; choose a coarser unit of time, a shorter horizon, or solver list"
        )
    fixed = fixed_of_graph(graph, _demand(problem), width, look_ahead)
    return fixed, frames_between(asap(graph), alap(graph, horizon), fixed, len(graph.resources))


def _demand(problem: Problem) -> NDArray[np.float64]:
    """Return what each operation adds to its distribution graph, the most 1.

    A force is a product of two demands on the same resource, so the root of its price weights forces with the price.
    """
    graph = problem.graph
    demand = graph.weight.astype(np.float64)
    if isinstance(problem, ResourceProblem):
        assert isinstance(problem.resource_weights, Mapping)
        prices = [problem.resource_weights.get(resource, 0) for resource in graph.resources]
        demand *= np.sqrt(np.asarray(prices, dtype=np.float64))[graph.resource_index]
    return demand / (demand.max(initial=0) or 1)


def _serial_steps(graph: Graph) -> int:
    steps = np.maximum(graph.span, graph.occupancy)
    np.maximum.at(steps, graph.src, graph.lag)
    return sum(steps.tolist())


def _frame_steps(fixed: Fixed, frames: Frames) -> IntArray:
    """Return how many terms the evaluation of each operation has, shape (n_ops,)."""
    neighbours = np.diff(fixed.behind.offsets) + np.diff(fixed.before.offsets)
    steps: IntArray = (frames.late - frames.early + 1) * (neighbours + 1)
    return steps


def _evaluate_all(fixed: Fixed, frames: Frames, cost: IntArray, run: Run) -> None:
    part = np.cumsum(cost) // _SURVEY_WORK
    ends = [*np.flatnonzero(np.diff(part)).tolist(), len(cost) - 1]
    begin = 0
    for end in ends:
        if run.stopped:
            return
        survey(fixed, frames, begin, end + 1)
        begin = end + 1


def _fix_all(fixed: Fixed, frames: Frames, candidates: int, run: Run) -> None:
    """Fix operations in portions of a tenth of a second or so, to look at the clock in between."""
    portion, done = 1, 1
    while done and not run.stopped:
        left = portion if run.max_steps is None else min(portion, run.max_steps - run.steps)
        began = time.perf_counter()
        done = advance(fixed, frames, candidates, left)
        if done:
            run.step(done)
        if run.watch is None:  # a watcher sees every step
            portion = 2 * portion if time.perf_counter() - began < 0.1 else max(portion // 2, 1)
