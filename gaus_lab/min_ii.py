"""`min_ii`: the smallest initiation interval at which a solver finds a schedule of a loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaus_lab.analysis import critical_path_length, rec_mii, res_mii
from gaus_lab.checks import MAX_INTEGER, integer
from gaus_lab.errors import ProblemError
from gaus_lab.exact import total
from gaus_lab.graph import Graph
from gaus_lab.graph.order import topological_order
from gaus_lab.html import html_table, text_table
from gaus_lab.problem import ModuloProblem
from gaus_lab.result import Result, Status
from gaus_lab.run import Solver, StopCriterion
from gaus_lab.solve import solve
from gaus_lab.solvers import solver_class

IntArray = NDArray[np.int64]


class Trial(NamedTuple):
    """One II that was tried.

    Attributes
    ----------
    ii : int, steps
    status : Status
    reason : str
        Why there is no schedule, empty where there is one.
    """

    ii: int
    status: Status
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class MinII:
    """The outcome of `min_ii`.

    Attributes
    ----------
    ii : int or None, steps
        Smallest II at which a schedule was found; None if there was none up to the largest II tried.
    result : Result or None
        The result at that II, with its verified schedule.
    mii, res_mii, rec_mii : int, steps
        The lower bounds.
    tried : tuple of `Trial`
        Every II tried, upwards.
    proven : bool
        Whether no smaller II is feasible: `ii` equals MII, or ``ii - 1`` was proven infeasible, and with it every
        smaller one (see Notes of `min_ii`). Where a horizon was given, all from MII up must have been proven
        infeasible, within that horizon. Without `ii`: whether no II at all is feasible.
    graph_name : str
    """

    ii: int | None
    result: Result | None
    mii: int
    res_mii: int
    rec_mii: int
    tried: tuple[Trial, ...] = ()
    proven: bool = False
    graph_name: str = field(default="graph", kw_only=True)

    def rows(self) -> list[tuple[str, str]]:
        """Return the table that text and HTML show."""
        proof = "proven smallest" if self.proven else "smaller ones not excluded"
        none = "no II is feasible" if self.proven else "none found"
        rows = [
            ("smallest II", none if self.ii is None else f"{self.ii} ({proof})"),
            ("ResMII, RecMII, MII", f"{self.res_mii}, {self.rec_mii}, {self.mii}"),
        ]
        rows += [(f"II {trial.ii}", _outcome(trial)) for trial in _shown(self.tried)]
        if self.result is not None:
            rows += [(key, value) for key, value in self.result.rows() if key not in ("status", "reason")]
        return rows

    def __repr__(self) -> str:
        return f"MinII of {self.graph_name!r}\n{text_table(self.rows())}"

    def _repr_html_(self) -> str:
        return html_table(self.rows(), caption=f"MinII of {self.graph_name!r}")


def min_ii(
    graph: Graph,
    limits: Mapping[str, int] | None = None,
    solver: Solver | None = None,
    *,
    seed: int = 0,
    stop: StopCriterion | Iterable[StopCriterion] | None = None,
    max_ii: int | None = None,
    horizon: int | None = None,
) -> MinII:
    """Return the smallest initiation interval at which a solver finds a schedule, searching upwards from MII.

    Every II is tried in turn, without bisection: a heuristic may fail at one II and succeed at a smaller one.

    Parameters
    ----------
    graph : Graph
    limits : mapping of resource to units >= 1, default ``graph.limits``
    solver : Solver, default ``IterativeModulo()``
        One that supports formulation C. An exact solver can prove that an II is infeasible.
    seed : int >= 0
    stop : stop criterion or several
        For the solver, at each II anew.
    max_ii : int >= 1, steps, default `serial_ii`
        Largest II tried.
    horizon : int >= 0, steps, default `sufficient_horizon` at each II
        A shorter one may exclude an II that is feasible otherwise.

    Raises
    ------
    ProblemError
        A limit or `max_ii` is out of range.
    SolverError
        As of `solve`.

    Notes
    -----
    With room in time, a loop that has a schedule at II has one at II + 1: every operation keeps its slot and its
    stage, so that an empty slot is put in before slot 0. A dependence holds as before, since no lag is negative: the
    stages of consumer and distance together are no less than the producer's stage. A busy step moves to the same
    slot or comes later, so no slot is fuller than it was, and the new one no fuller than slot 0. With a fixed
    horizon this need not hold: the schedule grows by a step for each stage.

    References
    ----------
    Rau, "Iterative modulo scheduling", MICRO-27, 1994, figure 2.

    Examples
    --------
    >>> loop = Graph.build(["a", "b", "c"], [("a", "b"), {"src": "b", "dst": "a", "distance": 1}])
    >>> found = min_ii(loop, {"op": 1})
    >>> found.ii, found.proven, found.result.schedule.start.tolist()
    (3, True, [0, 1, 2])
    """
    solver = solver_class("ims")() if solver is None else solver
    limits = ModuloProblem(graph, ii=1, horizon=0, limits=limits).limits  # checked once, and warned of once
    assert limits is not None
    bounds = (res_mii(graph, limits), rec_mii(graph))
    least = max(*bounds, 1)
    last = max(serial_ii(graph), least) if max_ii is None else integer(max_ii, "max_ii", 1, ProblemError)
    tried: list[Trial] = []
    found = None
    for ii in range(least, last + 1):
        room = sufficient_horizon(graph, ii, limits) if horizon is None else horizon
        result = solve(ModuloProblem(graph, room, limits, ii=ii), solver, seed=seed, stop=stop)
        tried.append(Trial(ii, result.status, result.reason))
        if result.schedule is not None:
            found = result
            break
        if result.interrupted or (ii == least and _hopeless(graph, limits, horizon, last)):
            break
    hopeless = found is None and _hopeless(graph, limits, horizon, last)
    return MinII(
        ii=None if found is None else found.problem.interval,
        result=found,
        mii=least,
        res_mii=bounds[0],
        rec_mii=bounds[1],
        tried=tuple(tried),
        proven=_excluded(tried[:-1], horizon) if found else hopeless,
        graph_name=graph.name,
    )


def _excluded(smaller: list[Trial], horizon: int | None) -> bool:
    """Return whether all smaller II are proven infeasible; with room in time the largest stands for all."""
    return all(trial.status is Status.INFEASIBLE for trial in (smaller[-1:] if horizon is None else smaller))


def _hopeless(graph: Graph, limits: Mapping[str, int], horizon: int | None, last: int) -> bool:
    """Return whether not even one iteration at a time is possible, so that no II is of any use."""
    ii = max(serial_ii(graph), last)
    room = sufficient_horizon(graph, ii, limits) if horizon is None else horizon
    return ModuloProblem(graph, room, limits, ii=ii).infeasibility() is not None


def _outcome(trial: Trial) -> str:
    return f"{trial.status}: {trial.reason}" if trial.reason else str(trial.status)


def _shown(tried: tuple[Trial, ...], most: int = 12) -> tuple[Trial, ...]:
    """Return the trials to list: the first and the last ones if there are many."""
    return tried if len(tried) <= most else (*tried[: most // 2], *tried[-(most // 2) :])


def serial_ii(graph: Graph) -> int:
    """Return an II at which operations can run one after another, and iterations too; at least 1.

    The sum over operations of the largest of occupancy, ``max(latency, 1)`` and the lags of outgoing edges: then
    each operation is alone, and all that an iteration makes is there when the next one begins. No schedule exists
    at any II if there is none at this one, which is so only if one operation needs more than a limit.

    Examples
    --------
    >>> serial_ii(Graph.build(["a", {"name": "b", "latency": 4}]))
    5
    """
    alone = np.maximum(graph.span, graph.occupancy)
    np.maximum.at(alone, graph.src, graph.lag)
    return min(max(total(alone), 1), MAX_INTEGER)


def sufficient_horizon(graph: Graph, ii: int, limits: Mapping[str, int] | None = None) -> int:
    """Return a horizon within which a schedule exists if one exists within any horizon; steps.

    Take any legal schedule, and keep the slots of the operations on limited resources. Start everything as early as
    dependences and these slots allow: capacities hold as before, and each start follows from a path of dependences
    without repetition, on which every limited operation waits at most ``ii - 1`` steps for its slot. Paths are
    no longer than the critical path at `ii`, and meet at most the L limited operations counted along the strongly
    connected components: the horizon is ``critical path + L * (ii - 1)``.

    Parameters
    ----------
    graph : Graph
    ii : int >= 1, steps
    limits : mapping of resource to units, default ``graph.limits``

    Notes
    -----
    Below RecMII no horizon is long enough, and the critical path without loop-carried edges is taken.

    Examples
    --------
    >>> sufficient_horizon(Graph.build(["a", "b", "c"], [("a", "b")]), ii=3, limits={"op": 1})
    6
    """
    limits = graph.limits if limits is None else limits
    try:
        length = critical_path_length(graph, ii)
    except ProblemError:
        length = critical_path_length(graph)
    return min(length + (ii - 1) * _limited_on_a_path(graph, limits), MAX_INTEGER)


def _limited_on_a_path(graph: Graph, limits: Mapping[str, int]) -> int:
    """Return a bound on the operations with a limit on one path, loop-carried edges included."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    is_limited = np.asarray([resource in limits for resource in graph.resources], dtype=bool)
    counted = is_limited[graph.resource_index] & (graph.occupancy > 0) & (graph.weight > 0)
    ends, shape = (graph.src, graph.dst), (graph.n_ops, graph.n_ops)
    matrix = coo_array((np.ones(graph.n_edges), ends), shape=shape).tocsr()
    n_parts, part = connected_components(matrix, connection="strong")
    between = np.flatnonzero(part[graph.src] != part[graph.dst])
    src, dst = part[graph.src[between]], part[graph.dst[between]]
    order = topological_order(n_parts, src, dst, np.zeros(len(between), dtype=np.int64))
    place = np.argsort(order)
    most = np.bincount(part[counted], minlength=n_parts).tolist()
    own = list(most)
    by_place = np.argsort(place[src], kind="stable")
    for u, v in zip(src[by_place].tolist(), dst[by_place].tolist(), strict=True):
        most[v] = max(most[v], most[u] + own[v])
    return max(most, default=0)
