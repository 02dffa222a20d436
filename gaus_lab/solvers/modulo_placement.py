"""`ModuloPlacement`: operations into the slots of a modulo reservation table, by height or near given steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gaus_lab.analysis import alap, asap
from gaus_lab.exact import product, total
from gaus_lab.problem import ModuloProblem
from gaus_lab.solvers.kernels import tree_first
from gaus_lab.solvers.modulo_lifetimes import shorten, uses_of
from gaus_lab.solvers.modulo_table import (
    NOWHERE,
    Edges,
    Loop,
    Needs,
    Table,
    blocked_at,
    empty_table,
    evict,
    first_free,
    loop_of,
    mirrored,
    place_all,
    put,
    put_all,
    window,
)

IntArray = NDArray[np.int64]

#: Largest number of entries of a reservation table: slots times resources with limits.
MAX_TABLE = 2**26


def never() -> bool:
    """Return False: nothing stops the placement."""
    return False


class ModuloPlacement:
    """Places all operations of a loop under its limits, forwards and backwards in time.

    Parameters
    ----------
    problem : ModuloProblem
    rng : numpy Generator
        For the noise in the order of later attempts.
    budget_ratio : float >= 1
        Placements per operation and attempt.

    Attributes
    ----------
    early, late : int arrays of shape (n_ops,), steps
        The window that dependences, II and horizon leave each start.
    infeasible : str or None
        Why no schedule exists, as far as the needs of single operations say.
    table_fits : bool
        Whether the table is small enough; otherwise there is no placement, and `too_large` says why.
    """

    def __init__(self, problem: ModuloProblem, rng: np.random.Generator, budget_ratio: float = 6.0) -> None:
        assert problem.ii is not None and problem.horizon is not None
        graph, self.ii = problem.graph, problem.ii
        self._rng, self._budget = rng, int(budget_ratio * graph.n_ops) + 1
        self.early, self.late = asap(graph, self.ii), alap(graph, problem.horizon, self.ii)
        self.needs, self.infeasible = _needs(problem)
        self.table_fits = len(self.needs.units) * self.ii <= MAX_TABLE
        lag = graph.lag - product(graph.distance, self.ii)
        keep = np.flatnonzero(lag > -problem.horizon)  # the others hold within any horizon
        edges = Edges(graph.src[keep], graph.dst[keep], lag[keep].astype(np.int64))
        self.forwards = loop_of(edges, self.early, self.late, self.needs, self.ii)
        turned = mirrored(edges, self.early, self.late, self.needs.length)
        self.backwards = loop_of(*turned, self.needs, self.ii)
        self.uses = uses_of(graph, self.ii, problem.hold_to)

    @property
    def limited(self) -> bool:
        """Whether some resource can run out of units."""
        return len(self.needs.units) > 0

    @property
    def too_large(self) -> str:
        """What to say where the table does not fit."""
        return (
            f"II {self.ii} with {len(self.needs.units)} limited resources needs a reservation table of more "
            f"than {MAX_TABLE} entries; choose a coarser unit of time, or leave limits out"
        )

    def attempt(self, attempt: int, stopped: Callable[[], bool] = never) -> IntArray | None:
        """Return the starts after one pass of iterative modulo scheduling, None if its budget runs out.

        Every other attempt works backwards in time, the first two order by height, the next two by mobility, all
        further ones by height and noise.
        """
        loop = self.backwards if attempt % 2 else self.forwards
        table = empty_table(loop, self.needs.units, self._rank(attempt))
        left = self._budget
        while left > 0 and not stopped():
            portion = min(left, 2 * len(self.early) + 1)
            if place_all(loop, table, portion):
                return -self.needs.length - table.start if attempt % 2 else table.start
            left -= portion
        return None

    def near(self, target: IntArray, stopped: Callable[[], bool] = never) -> IntArray | None:
        """Return starts under the limits near the given ones, None if the budget runs out or it is stopped.

        Operations come in the order of their targets; each takes the free slots that are closest.
        """
        rank = np.empty(len(target), dtype=np.int64)
        rank[np.lexsort((self.late, target))] = np.arange(len(target))
        table = empty_table(self.forwards, self.needs.units, rank)
        aims, left = np.array(target, dtype=np.int64), self._budget
        while left > 0 and not stopped():
            portion = min(left, 2 * len(self.early) + 1)
            if place_near(self.forwards, table, aims, portion):
                return table.start
            left -= portion
        return None

    def shortened(self, start: IntArray, stopped: Callable[[], bool] = never) -> IntArray:
        """Return a legal schedule with shorter lifetimes, by moves of single operations until none helps."""
        table = empty_table(self.forwards, self.needs.units, np.arange(len(start)))
        put_all(self.forwards, table, start)
        order = np.argsort(start, kind="stable")
        for turn in range(20):
            turned = order[:: 1 if turn % 2 else -1].copy()
            if stopped() or not shorten(self.forwards, table, self.uses, turned):
                break
        return table.start

    def _rank(self, attempt: int) -> IntArray:
        """Return the place of each operation in the order of an attempt."""
        near = -self.early if attempt % 2 else self.late
        keys: tuple[NDArray[Any], ...] = (near,)
        if attempt // 2 == 1:
            keys = (near, self.late - self.early)
        elif attempt // 2 > 1:
            spread = float(np.std(near)) + 1.0
            keys = (near + self._rng.normal(0.0, spread * 2.0 ** -(attempt // 2 % 4), len(near)),)
        rank = np.empty(len(near), dtype=np.int64)
        rank[np.lexsort(keys)] = np.arange(len(near))
        return rank


def _needs(problem: ModuloProblem) -> tuple[Needs, str | None]:
    """Return what operations need of the table, and its units; and why one of them can never fit."""
    graph, ii, limits = problem.graph, problem.ii, problem.limits
    assert ii is not None and limits is not None
    length, reason = graph.occupancy % ii, None
    row = np.full(graph.n_ops, -1, dtype=np.int64)
    units: list[int] = []
    for resource, limit in limits.items():
        ops = graph.ops_on(resource)
        left = limit - total(product(graph.weight[ops], graph.occupancy[ops] // ii))
        own = ops[(length[ops] > 0) & (graph.weight[ops] > 0)]
        too_large = own[graph.weight[own] > left]
        if len(too_large):
            op = int(too_large[0])
            reason = (
                f"op {op} ({graph.ops[op]}) uses {graph.weight[op]} units of {resource}, and the operations that are "
                f"busy for II {ii} or longer leave {left} of {limit}"
            )
        if len(own) and total(graph.weight[own]) > left:  # else all of them fit into one slot
            row[own] = len(units)
            units.append(left)
    needed = np.where(row >= 0, length, 0)
    return Needs(row, needed, graph.weight.astype(np.int64), np.asarray(units, dtype=np.int64)), reason


@njit(cache=True)
def _closest(loop: Loop, table: Table, op: int, first: int, last: int, aim: int) -> int:
    """Return the step in [first, last] nearest to `aim` at which the slots of `op` are free, or `NOWHERE`."""
    if first > last:
        return NOWHERE
    aim = min(max(aim, first), last)
    after = first_free(loop, table, op, aim, min(last, aim + loop.ii - 1))
    reach = loop.ii - 1 if after == NOWHERE else after - aim - 1
    for step in range(aim - 1, max(first, aim - reach) - 1, -1):
        if blocked_at(loop, table, op, step) < 0:
            return step
    return after


@njit(cache=True)
def place_near(loop: Loop, table: Table, target: IntArray, budget: int) -> bool:
    """Place waiting operations close to their targets; as `modulo_table.place_all` otherwise."""
    for _ in range(budget):
        if table.queue[1] == np.inf:
            return True
        op = tree_first(table.queue)
        first, last = window(loop, table, op)
        step = NOWHERE
        if table.last[op] == NOWHERE or target[op] > table.last[op]:
            step = _closest(loop, table, op, first, last, target[op])
        if step == NOWHERE:
            step = first_free(loop, table, op, first, min(last, first + loop.ii - 1))
        if step == NOWHERE:
            step = first_free(loop, table, op, first, min(loop.late[op], first + loop.ii - 1))
        if step == NOWHERE:  # later than the last time, so that two do not evict each other forever
            step = max(first, table.last[op] + 1)
            if step > loop.late[op]:
                step = loop.early[op]
        evict(loop, table, op, step)
        put(loop, table, op, step)
    return bool(table.queue[1] == np.inf)
