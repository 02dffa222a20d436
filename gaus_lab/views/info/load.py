"""The load of a schedule: units in use and live bits over the steps."""

from __future__ import annotations

from dataclasses import dataclass

from gaus_lab.analysis import resource_work
from gaus_lab.errors import GausLabError
from gaus_lab.result import Result


@dataclass(frozen=True)
class ResourceLoad:
    """The use of one resource.

    Attributes
    ----------
    resource : str
    usage : tuple of int, units
        In each step, or in each slot of a modulo schedule.
    limit : int or None
    peak : int, units
    utilisation : float
        Work divided by the room: unit-steps of all operations over (limit, or else peak) times the steps. 0 to 1.
    """

    resource: str
    usage: tuple[int, ...]
    limit: int | None
    peak: int
    utilisation: float


@dataclass(frozen=True)
class Load:
    """What a schedule uses over time.

    Attributes
    ----------
    graph, solver : str
    ii : int or None
        With it, steps are slots: everything is folded modulo `ii`.
    resources : tuple of ResourceLoad
    live_bits : tuple of int
        ``live_bits[d]``: on the boundary between the steps d and d + 1.
    footprint : int, bits
        The largest of them.
    """

    graph: str
    solver: str
    ii: int | None
    resources: tuple[ResourceLoad, ...]
    live_bits: tuple[int, ...]
    footprint: int


def load_of(result: Result) -> Load:
    """Return units in use and live bits over the steps of a result's schedule.

    Raises
    ------
    GausLabError
        The result has no schedule.
    ProblemError
        More than 2**26 steps.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> graph = gl.Graph.build(["a", "b", "c"], [("a", "c"), ("b", "c")])
    >>> load = load_of(gl.solve(gl.ResourceProblem(graph, horizon=2), gl.Asap()))
    >>> load.resources, load.live_bits
    ((ResourceLoad(resource='op', usage=(2, 1), limit=None, peak=2, utilisation=0.75),), (2, 0))
    """
    schedule = result.schedule
    if schedule is None:
        raise GausLabError(
            f"the result of {result.solver} on {result.problem.graph.name!r} has no schedule to draw: "
            f"{result.reason or result.status}"
        )
    work = resource_work(schedule.graph)
    limits = result.problem.limits or {}
    resources = []
    for resource, usage in schedule.usage().items():
        steps, peak, limit = usage.tolist(), schedule.peak_usage[resource], limits.get(resource)
        room = (peak if limit is None else limit) * len(steps)
        share = work[resource] / room if room else 0.0
        resources.append(ResourceLoad(resource, tuple(steps), limit, peak, share))
    live = schedule.liveness(getattr(result.problem, "hold_to", None)).tolist()
    return Load(
        schedule.graph.name, result.solver, schedule.ii, tuple(resources), tuple(live), max(live, default=0)
    )
