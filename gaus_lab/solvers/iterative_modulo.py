"""Iterative modulo scheduling: operations take slots in order of height, and evict each other if none is free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gaus_lab.analysis import alap, asap
from gaus_lab.checks import integer, number
from gaus_lab.errors import SolverError
from gaus_lab.exact import product, total
from gaus_lab.problem import ModuloProblem, Problem
from gaus_lab.run import Run
from gaus_lab.solvers.modulo_lifetimes import shorten, uses_of
from gaus_lab.solvers.modulo_table import (
    Edges,
    Loop,
    Needs,
    Table,
    empty_table,
    loop_of,
    mirrored,
    place_all,
    put_all,
)

IntArray = NDArray[np.int64]

#: Largest number of entries of a reservation table: slots times resources with limits.
MAX_TABLE = 2**26


@dataclass(frozen=True)
class IterativeModulo:
    """Iterative modulo scheduling (Rau), with restarts and shorter lifetimes afterwards.

    Operations are placed in the order of their height, the longest path from an operation to the end of all that
    depends on it, with ``distance * ii`` taken off loop-carried edges. Each goes to the first step, from the earliest
    that its placed producers allow, at which a modulo reservation table has its slots free, and looks at ii steps,
    since the slots repeat. If none is free it takes the earliest step, one later than the last time, and evicts
    whatever cannot stand beside it: operations in its slots, the last in order first, producers and consumers whose
    dependence breaks. The evicted wait again. An attempt ends when no operation waits, or after `budget_ratio`
    placements per operation.

    Every start stays within the window that the horizon leaves it. Attempts differ: every other one works backwards
    in time, the first two order by height, the next two by mobility, all further ones by height and noise.

    Objective: the first concern is a legal schedule. Each one found is offered, then improved: operation by operation,
    from last to first and back, moves to the free slots where the values that it makes and uses live least (bits
    times steps, summed; values with more than 64 uses left out), until none moves. This lowers the mean of the live
    bits over the slots, and with it, mostly, the footprint, their maximum; the result is offered too. Without limits
    the first schedule is ASAP.

    Optimality: none. Time per attempt O(budget_ratio * (n + m) log) plus the evictions, and O(n * ii) at most for a
    pass over lifetimes; memory O(n + m + ii * limited resources). Deterministic for a seed; only the attempts with
    noise depend on it. Each attempt counts as a step. It fails where no attempt finds a legal schedule, which proves
    nothing, and refuses tables of more than 2**26 entries unless ASAP is legal.

    Parameters
    ----------
    budget_ratio : number >= 1
        Placements per operation and attempt.
    attempts : int >= 1
        Largest number of attempts.

    Raises
    ------
    SolverError
        A setting is out of range; in a run, a reservation table that is too large.

    References
    ----------
    Rau, "Iterative modulo scheduling: an algorithm for software pipelining loops", MICRO-27, 1994; Huff,
    "Lifetime-sensitive modulo scheduling", PLDI 1993 (order by mobility, both directions of time).

    Examples
    --------
    >>> import gaus_lab as gl
    >>> graph = gl.load("ewf_loop")
    >>> problem = gl.ModuloProblem(graph, limits={"MUL": 1, "ALU": 2}, ii=19)
    >>> gl.verify(problem, gl.solve(problem, IterativeModulo()).schedule)
    []
    """

    budget_ratio: float = 6
    attempts: int = 64

    name: ClassVar[str] = "ims"
    formulations: ClassVar[frozenset[str]] = frozenset("C")

    def __post_init__(self) -> None:
        number(self.budget_ratio, "budget_ratio", 1, SolverError)
        integer(self.attempts, "attempts", 1, SolverError)

    def run(self, problem: Problem, run: Run) -> None:
        """Offer the schedule of every attempt, before and after its lifetimes are shortened."""
        assert isinstance(problem, ModuloProblem)
        search = _Search(problem, run, self)
        if run.infeasible is not None:
            return
        for attempt in range(self.attempts):
            if attempt and run.stopped:
                return
            search.attempt(attempt)
            run.step()


class _Search:
    """The attempts at one problem, forwards and backwards in time."""

    def __init__(self, problem: ModuloProblem, run: Run, settings: IterativeModulo) -> None:
        assert problem.ii is not None and problem.horizon is not None
        graph, self.ii = problem.graph, problem.ii
        self.problem, self.run, self.rng = problem, run, run.rng()
        self.budget = int(settings.budget_ratio * graph.n_ops) + 1
        self.early, self.late = asap(graph, self.ii), alap(graph, problem.horizon, self.ii)
        self.needs = _needs(problem, run)
        self.table_fits = len(self.needs.units) * self.ii <= MAX_TABLE
        lag = graph.lag - product(graph.distance, self.ii)
        keep = np.flatnonzero(lag > -problem.horizon)  # the others hold within any horizon
        self.edges = Edges(graph.src[keep], graph.dst[keep], lag[keep].astype(np.int64))
        self.forwards = loop_of(self.edges, self.early, self.late, self.needs, self.ii)
        turned = mirrored(self.edges, self.early, self.late, self.needs.length)
        self.backwards = loop_of(*turned, self.needs, self.ii)
        self.uses = uses_of(graph, self.ii, problem.hold_to)

    def attempt(self, attempt: int) -> None:
        """Place all operations once, and offer what comes of it."""
        if not self.table_fits:
            if not self.run.offer(self.early) and self.run.best_start is None:
                raise SolverError(
                    f"II {self.ii} with {len(self.needs.units)} limited resources needs a reservation table of more "
                    f"than {MAX_TABLE} entries; choose a coarser unit of time, or leave limits out"
                )
            return
        loop = self.backwards if attempt % 2 else self.forwards
        table = empty_table(loop, self.needs.units, self._rank(attempt))
        if not self._place(loop, table, attempt == 0):
            return
        start = -self.needs.length - table.start if attempt % 2 else table.start
        self.run.offer(start)
        self._shorten(start)

    def _rank(self, attempt: int) -> IntArray:
        """Return the place of each operation in the order of an attempt."""
        near = -self.early if attempt % 2 else self.late
        keys: tuple[NDArray[np.float64] | IntArray, ...] = (near,)
        if attempt // 2 == 1:
            keys = (near, self.late - self.early)
        elif attempt // 2 > 1:
            spread = float(np.std(near)) + 1.0
            keys = (near + self.rng.normal(0.0, spread * 2.0 ** -(attempt // 2 % 4), len(near)),)
        rank = np.empty(len(near), dtype=np.int64)
        rank[np.lexsort(keys)] = np.arange(len(near))
        return rank

    def _place(self, loop: Loop, table: Table, first: bool) -> bool:
        """Place all within the budget; the stop criteria are asked between portions, but not in the first one."""
        left = self.budget
        while left > 0 and (first or not self.run.stopped):
            portion = min(left, 2 * self.problem.graph.n_ops + 1)
            if place_all(loop, table, portion):
                return True
            left, first = left - portion, False
        return False

    def _shorten(self, start: IntArray) -> None:
        """Shorten the lifetimes of a legal schedule, and offer the result."""
        table = empty_table(self.forwards, self.needs.units, np.arange(len(start)))
        put_all(self.forwards, table, start)
        order = np.argsort(start, kind="stable")
        for turn in range(20):
            if self.run.stopped or not shorten(
                self.forwards, table, self.uses, order[:: 1 if turn % 2 else -1].copy()
            ):
                break
        self.run.offer(table.start)


def _needs(problem: ModuloProblem, run: Run) -> Needs:
    """Return what operations need of the table, and its units; prove infeasibility where one can never fit."""
    graph, ii, limits = problem.graph, problem.ii, problem.limits
    assert ii is not None and limits is not None
    length = graph.occupancy % ii
    row = np.full(graph.n_ops, -1, dtype=np.int64)
    units: list[int] = []
    for resource, limit in limits.items():
        ops = graph.ops_on(resource)
        left = limit - total(product(graph.weight[ops], graph.occupancy[ops] // ii))
        own = ops[(length[ops] > 0) & (graph.weight[ops] > 0)]
        too_large = own[graph.weight[own] > left]
        if len(too_large):
            op = int(too_large[0])
            run.prove_infeasible(
                f"op {op} ({graph.ops[op]}) uses {graph.weight[op]} units of {resource}, and the operations that are "
                f"busy for II {ii} or longer leave {left} of {limit}"
            )
        if len(own) and total(graph.weight[own]) > left:  # else all of them fit into one slot
            row[own] = len(units)
            units.append(left)
    needed = np.where(row >= 0, length, 0)
    return Needs(row, needed, graph.weight.astype(np.int64), np.asarray(units, dtype=np.int64))
