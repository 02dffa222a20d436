"""Iterative modulo scheduling: operations take slots in order of height, and evict each other if none is free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaus_lab.checks import integer, number
from gaus_lab.errors import SolverError
from gaus_lab.problem import ModuloProblem, Problem
from gaus_lab.run import Run
from gaus_lab.solvers.modulo_placement import ModuloPlacement


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
        placement = ModuloPlacement(problem, run.rng(), self.budget_ratio)
        if placement.infeasible is not None:
            run.prove_infeasible(placement.infeasible)
            return
        for attempt in range(self.attempts):
            if attempt and run.stopped:
                return
            self._attempt(placement, attempt, run)
            run.step()

    def _attempt(self, placement: ModuloPlacement, attempt: int, run: Run) -> None:
        """Place all operations once, and offer what comes of it."""
        if not placement.table_fits:
            if not run.offer(placement.early) and run.best_start is None:
                raise SolverError(placement.too_large)
            return
        start = placement.attempt(attempt, lambda: attempt > 0 and run.stopped)
        if start is not None:
            run.offer(start)
            run.offer(placement.shortened(start, lambda: run.stopped))
