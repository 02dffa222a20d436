"""`explain`: why a problem has no schedule, and what its lower bound is made of; as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gaus_lab import bounds
from gaus_lab.analysis import (
    alap,
    asap,
    critical_path,
    critical_path_length,
    mii,
    rec_mii,
    res_mii,
    resource_work,
)
from gaus_lab.graph import Graph
from gaus_lab.html import html_table, text_table
from gaus_lab.problem import ModuloProblem, Problem, ResourceProblem
from gaus_lab.recurrence import critical_recurrence


@dataclass(frozen=True)
class Reason:
    """One proof that no schedule is legal.

    Attributes
    ----------
    rule : str
        ``"path"`` (longer than the horizon), ``"recurrence"`` (RecMII above the II), ``"units"`` (a type needs more
        than its limit) or ``"operation"`` (one operation needs more than its limit).
    ops : tuple of str
        The operations of the path or of the recurrence, in order; the one operation; empty for ``"units"``.
    resource : str or None
    need, have : int
        Both sides of the inequality that is broken: steps of the path and of the horizon, RecMII and II, units and
        limit.
    """

    rule: str
    ops: tuple[str, ...]
    resource: str | None
    need: int
    have: int

    def __str__(self) -> str:
        path = " -> ".join(self.ops if len(self.ops) <= 8 else (*self.ops[:4], "...", *self.ops[-3:]))
        if self.rule == "path":
            return f"path {path} takes {self.need} steps, the horizon is {self.have}"
        if self.rule == "recurrence":
            return f"recurrence {path} needs an II of {self.need}, the II is {self.have}"
        if self.rule == "operation":
            return f"op {path} uses {self.need} units of {self.resource}, the limit is {self.have}"
        return (
            f"{self.resource} needs at least {self.need} units in some step or slot, the limit is {self.have}"
        )


@dataclass(frozen=True)
class Explanation:
    """What can be proven about a problem without solving it.

    Attributes
    ----------
    formulation : str
    bound : int or None
        Lower bound on the objective; None where a reason says that there is no schedule.
    parts : tuple of (str, int)
        What the bound follows from, by name, in the units of each name.
    reasons : tuple of Reason
        Empty if none was found; that does not prove that a schedule exists.
    """

    formulation: str
    bound: int | None
    parts: tuple[tuple[str, int], ...]
    reasons: tuple[Reason, ...]

    def _rows(self) -> list[tuple[str, object]]:
        rows: list[tuple[str, object]] = [("bound", "no schedule" if self.bound is None else self.bound)]
        return [*rows, *self.parts, *((r.rule, str(r)) for r in self.reasons)]

    def __repr__(self) -> str:
        return f"Formulation {self.formulation}\n{text_table(self._rows())}"

    def _repr_html_(self) -> str:
        return html_table(self._rows(), caption=f"Formulation {self.formulation}")


def explain(problem: Problem) -> Explanation:
    """Return why no schedule is legal, as far as proofs without search go, and the parts of the lower bound.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    Explanation

    Notes
    -----
    Path: the longest one is compared with the horizon. Recurrence: RecMII with the II. Operation: the units of each
    with its limit. Units: the interval bound on the peak (of a loop folded, and only ``ceil(work / II)`` where the
    dependences break the horizon or the II), with the limit. The bounds are those of the problem's own `bound`.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> explain(gl.ResourceProblem(gl.load("hal"), horizon=3)).reasons[0].need
    6
    """
    reasons = tuple(_reasons(problem))
    if not reasons and problem.infeasibility() is None:
        return Explanation(problem.formulation, problem.bound(), tuple(_parts(problem)), ())
    return Explanation(problem.formulation, None, (), reasons)


def _reasons(problem: Problem) -> Iterator[Reason]:
    graph, ii = problem.graph, problem.interval
    timely = True
    if ii is not None and rec_mii(graph) > ii:
        cycle = tuple(graph.ops[graph.src[e]] for e in critical_recurrence(graph))
        yield Reason("recurrence", cycle, None, rec_mii(graph), ii)
        timely = False
    elif problem.horizon is not None and critical_path_length(graph, ii) > problem.horizon:
        timely = False
        ops = critical_path(graph) if ii is None else [int(np.argmax(asap(graph, ii) + graph.span))]
        need = critical_path_length(graph, ii)
        yield Reason("path", tuple(graph.ops[i] for i in ops), None, need, problem.horizon)
    yield from _unit_reasons(problem, timely)


def _unit_reasons(problem: Problem, timely: bool) -> Iterator[Reason]:
    """Yield the limits that are too low; peaks within a horizon are bounded only where the dependences fit it."""
    graph, ii = problem.graph, problem.interval
    assert problem.limits is not None
    least: Mapping[str, int] = {}
    if ii is not None and timely and problem.horizon is not None:
        least = bounds.modulo_peak_bound(graph, problem.horizon, ii)
    elif ii is not None:
        least = {resource: -(-work // ii) for resource, work in resource_work(graph).items()}
    elif problem.horizon is not None and timely:
        least = bounds.peak_bound(graph, problem.horizon)
    for resource, limit in problem.limits.items():
        ops = graph.ops_on(resource)
        large = ops[(graph.occupancy[ops] > 0) & (graph.weight[ops] > limit)]
        if len(large):
            op = int(large[0])
            yield Reason("operation", (graph.ops[op],), resource, int(graph.weight[op]), limit)
        elif least.get(resource, 0) > limit:
            yield Reason("units", (), resource, int(least[resource]), limit)


def _parts(problem: Problem) -> Iterator[tuple[str, int]]:
    graph = problem.graph
    if isinstance(problem, ModuloProblem):
        yield "ResMII", res_mii(graph, problem.limits)
        yield "RecMII", rec_mii(graph)
        yield "MII", mii(graph, problem.limits)
    elif isinstance(problem, ResourceProblem):
        assert problem.horizon is not None
        for resource, units in bounds.peak_bound(graph, problem.horizon).items():
            yield f"peak usage of {resource}", units
        if problem.communication_weight:
            yield "communication", bounds.communication_bound(graph, problem.horizon)
    elif problem.formulation == "R":
        yield "critical path", critical_path_length(graph)
        yield from _work_steps(graph, problem.limits or {})
    if problem.formulation in "BC":
        yield "footprint", problem.bound()


def _work_steps(graph: Graph, limits: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield how many steps the work on each limited resource takes, with the shortest way to it and from it."""
    early, tail, work = asap(graph), -alap(graph, 0), resource_work(graph)
    for resource, limit in limits.items():
        ops = graph.ops_on(resource)
        ops = ops[(graph.occupancy[ops] > 0) & (graph.weight[ops] > 0)]
        if len(ops):
            behind = int((tail[ops] - graph.occupancy[ops]).min())
            steps = int(early[ops].min()) + -(-work[resource] // limit) + behind
            yield f"work on {resource}", int(steps)
