"""The four problems: what is minimised, and under which constraints. They know no solver.

==== ====================== ================================================== ===================================
 A   `ResourceProblem`      weighted peak usage + weighted communication       precedence, horizon
 B   `FootprintProblem`     footprint                                          precedence, horizon
 C   `ModuloProblem`        modulo footprint                                   modulo capacity, precedence, horizon
 R   `LatencyProblem`       makespan                                           precedence, capacity
==== ====================== ================================================== ===================================

A and B carry capacities too where `limits` are given.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from gaus_lab import bounds, constraints
from gaus_lab.analysis import asap, check_horizon, critical_path_length, mii, resource_work
from gaus_lab.checks import MAX_INTEGER, integer, short
from gaus_lab.constraints import Violation
from gaus_lab.errors import GausLabWarning, ProblemError
from gaus_lab.exact import product, total
from gaus_lab.graph import Graph
from gaus_lab.schedule import Schedule

__all__ = ["PROBLEMS", "FootprintProblem", "LatencyProblem", "ModuloProblem", "Problem", "ResourceProblem"]


@dataclass(frozen=True, eq=False)
class Problem:
    """What the four problems share: a graph, a horizon, limits, and exact judgements on schedules.

    Parameters
    ----------
    graph : Graph
    horizon : int, steps, default the critical path
    limits : mapping of resource to units >= 1, default ``graph.limits``; ``{}`` for none
        One on a resource that no operation uses is dropped, with a warning.

    Raises
    ------
    ProblemError
        A limit of 0 on a resource in use, a number that is no integer or out of range, weights, bits or costs of
        the graph that are no integers, a critical path of more than 2**42 steps where the horizon is left out.
    """

    graph: Graph
    horizon: int | None = None
    limits: Mapping[str, int] | None = None

    formulation: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.graph, Graph):
            raise ProblemError(
                f"graph must be a Graph, got {short(self.graph)}; read one with gaus_lab.read or load"
            )
        for key in ("weight", "bits", "cost"):
            if getattr(self.graph, key).dtype.kind == "f":
                raise ProblemError(
                    f"graph {self.graph.name!r}: {key} has values with a fractional part; "
                    f"objectives are integers: scale them, e.g. graph.replace({key}=(1000 * graph.{key}).round())"
                )
        self._set("limits", _checked_limits(self.graph, self.limits))
        self._check_own()
        horizon, what = self.horizon, "horizon"
        if horizon is None:
            horizon, what = (
                self._default_horizon(),
                "the default horizon, which follows from the critical path,",
            )
        if horizon is not None:
            self._set("horizon", integer(horizon, what, 0, ProblemError))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by the fields, since a read-only mapping has no pickle."""
        values = [getattr(self, field.name) for field in dataclasses.fields(self)]
        return type(self), tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)

    def _check_own(self) -> None:
        """Check the fields that the subclass adds."""

    def _default_horizon(self) -> int | None:
        return critical_path_length(self.graph)

    def _set(self, key: str, value: Any) -> None:
        object.__setattr__(self, key, value)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    @property
    def interval(self) -> int | None:
        """Initiation interval for schedules of this problem; None where iterations do not overlap."""
        return None

    def schedule(self, start: Any) -> Schedule:
        """Return a `Schedule` of this problem's graph (with its ii) from start steps."""
        return Schedule(self.graph, start, self.interval)

    def objective(self, schedule: Schedule) -> int:
        """Return the exact value of a schedule, whether it is legal or not."""
        raise NotImplementedError

    def terms(self, schedule: Schedule) -> dict[str, Any]:
        """Return peak usage by resource, communication, footprint and makespan of a schedule."""
        return {
            "peak_usage": schedule.peak_usage,
            "communication": schedule.communication,
            "footprint": schedule.footprint(),
            "makespan": schedule.makespan,
        }

    def violations(self, schedule: Schedule) -> list[Violation]:
        """Return every constraint that a schedule breaks; [] if it is legal."""
        assert self.limits is not None
        return [
            *constraints.precedence(schedule),
            *constraints.horizon(schedule, self.horizon),
            *constraints.capacity(schedule, self.limits),
        ]

    def is_legal(self, schedule: Schedule) -> bool:
        """Return whether `violations` would be empty, without listing them."""
        assert self.limits is not None
        return constraints.all_hold(schedule, self.horizon, self.limits)

    def bound(self) -> int:
        """Return a proven lower bound on the objective of every legal schedule."""
        raise NotImplementedError

    def infeasibility(self) -> str | None:
        """Return why no schedule can be legal, as far as cheap tests say; None if they find nothing."""
        return self._time_infeasibility() or self._capacity_infeasibility()

    def _time_infeasibility(self) -> str | None:
        return None if self.horizon is None else check_horizon(self.graph, self.horizon, self.interval)

    def _capacity_infeasibility(self) -> str | None:
        assert self.limits is not None
        graph, work = self.graph, resource_work(self.graph)
        period = self.interval or self.horizon
        for resource, units in self.limits.items():
            if resource not in work:
                continue
            ops = graph.ops_on(resource)
            large = ops[(graph.occupancy[ops] > 0) & (graph.weight[ops] > units)]
            if len(large):
                op = int(large[0])
                return f"op {op} ({graph.ops[op]}) uses {graph.weight[op]} units of {resource}, the limit is {units}"
            if period is not None and work[resource] > units * period + self._overhang(resource):
                what = "the II" if self.interval else "the horizon"
                return (
                    f"the operations on {resource} need {work[resource]} unit-steps, "
                    f"{units} units over {what} of {period} offer {units * period}"
                )
        return self._peak_infeasibility()

    def _peak_infeasibility(self) -> str | None:
        """Return which limit lies below the interval bound on its resource's peak usage."""
        if not self.limits or self.horizon is None or self.interval is not None:
            return None
        for resource, least in bounds.peak_bound(self.graph, self.horizon).items():
            if least > self.limits.get(resource, least):
                return (
                    f"dependences and horizon {self.horizon} force {least} units of {resource} in some step, "
                    f"the limit is {self.limits[resource]}"
                )
        return None

    def _overhang(self, resource: str) -> int:
        """Return the unit-steps that operations may stay busy after the horizon (occupancy above latency)."""
        if self.interval:
            return 0
        graph = self.graph
        ops = graph.ops_on(resource)
        return total(product(graph.weight[ops], np.maximum(graph.occupancy[ops] - graph.span[ops], 0)))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as in the result file: formulation, horizon, ii, limits, weights."""
        assert self.limits is not None
        return {
            "formulation": self.formulation,
            "horizon": self.horizon,
            "ii": self.interval,
            "limits": dict(self.limits),
            "resource_weights": None,
            "communication_weight": None,
        }

    def __repr__(self) -> str:
        ii = "" if self.interval is None else f", II {self.interval}"
        limits = f", limits {dict(self.limits)}" if self.limits else ""
        return f"{type(self).__name__}({self.graph!r}, horizon {self.horizon}{ii}{limits})"


@dataclass(frozen=True, eq=False, repr=False)
class ResourceProblem(Problem):
    """Formulation A: minimise weighted peak usage plus weighted communication within the horizon.

    Parameters
    ----------
    graph, horizon, limits
        As `Problem`.
    resource_weights : int or mapping of resource to int >= 0, default 1
        Price of one unit of each resource. In a mapping a missing resource costs nothing.
    communication_weight : int >= 0, default 0
        Price of one step boundary crossed by an edge of cost 1.
    weights : ``"balanced"``, optional
        Sets both weights from the ASAP schedule: with its peak usage P and communication C,
        ``max(1, round(C / P))`` and ``max(1, round(P / C))``.

    Raises
    ------
    ProblemError
        As `Problem`; a weight that is no integer >= 0 (scale fractions), both kinds of weights given.

    References
    ----------
    Cai et al., "GauS", arXiv 2602.20427, formulation A.

    Examples
    --------
    >>> graph = Graph.build(["a", "b", "c"], [("a", "c"), ("b", "c")])
    >>> problem = ResourceProblem(graph, horizon=3, communication_weight=2)
    >>> problem.objective(problem.schedule([0, 1, 2])), problem.bound()
    (7, 5)
    """

    resource_weights: int | Mapping[str, int] | None = None
    communication_weight: int | None = None
    weights: InitVar[str | None] = None

    formulation: ClassVar[str] = "A"

    def __post_init__(self, weights: str | None) -> None:
        super().__post_init__()
        if weights is not None:
            if weights != "balanced":
                raise ProblemError(f"weights must be 'balanced' or None, got {short(weights)}")
            if self.resource_weights is not None or self.communication_weight is not None:
                raise ProblemError("weights='balanced' sets both weights; leave the others out")
            resource, communication = _balanced_weights(self.graph)
            self._set("resource_weights", resource)
            self._set("communication_weight", communication)
        self._set("resource_weights", _checked_weights(self.graph, self.resource_weights))
        weight = 0 if self.communication_weight is None else self.communication_weight
        self._set("communication_weight", integer(weight, "communication_weight", 0, ProblemError))

    def objective(self, schedule: Schedule) -> int:
        """Return ``sum of resource_weight * peak usage + communication_weight * communication``."""
        assert isinstance(self.resource_weights, Mapping) and self.communication_weight is not None
        peaks = schedule.peak_usage
        usage = sum(weight * peaks[resource] for resource, weight in self.resource_weights.items())
        return usage + self.communication_weight * schedule.communication

    def bound(self) -> int:
        """Return the interval bound on each peak plus the least communication, weighted."""
        assert isinstance(self.resource_weights, Mapping) and self.communication_weight is not None
        if self._time_infeasibility():
            return 0
        assert self.horizon is not None
        peaks = bounds.peak_bound(self.graph, self.horizon)
        total = sum(weight * peaks[resource] for resource, weight in self.resource_weights.items())
        if self.communication_weight:
            total += self.communication_weight * bounds.communication_bound(self.graph, self.horizon)
        return total

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as in the result file."""
        assert isinstance(self.resource_weights, Mapping)
        own = {
            "resource_weights": dict(self.resource_weights),
            "communication_weight": self.communication_weight,
        }
        return super().to_dict() | own


@dataclass(frozen=True, eq=False, repr=False)
class FootprintProblem(Problem):
    """Formulation B: minimise the footprint, the largest number of live bits on a step boundary.

    Parameters
    ----------
    graph, horizon, limits
        As `Problem`.
    hold_outputs : bool
        Whether values without consumers stay live to the horizon; by default they are never live.

    References
    ----------
    Cai et al., "GauS", arXiv 2602.20427, formulation B.

    Examples
    --------
    >>> graph = Graph.build([{"name": "a", "bits": 8}, "b", "c"], [("a", "b"), ("b", "c")])
    >>> FootprintProblem(graph).bound()
    8
    """

    hold_outputs: bool = False

    formulation: ClassVar[str] = "B"

    @property
    def hold_to(self) -> int | None:
        """Step to which outputs are held, None where they are not."""
        return self.horizon if self.hold_outputs else None

    def objective(self, schedule: Schedule) -> int:
        """Return the footprint, bits."""
        return schedule.footprint(self.hold_to)

    def terms(self, schedule: Schedule) -> dict[str, Any]:
        """Return the terms, the footprint with outputs held if the problem says so."""
        return super().terms(schedule) | {"footprint": schedule.footprint(self.hold_to)}

    def bound(self) -> int:
        """Return `bounds.footprint_bound`."""
        if self._time_infeasibility():
            return 0
        assert self.horizon is not None
        return bounds.footprint_bound(self.graph, self.horizon)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as in the result file."""
        return super().to_dict() | ({"hold_outputs": True} if self.hold_outputs else {})


@dataclass(frozen=True, eq=False, repr=False)
class ModuloProblem(Problem):
    """Formulation C: minimise the modulo footprint of a loop with initiation interval `ii`.

    Parameters
    ----------
    graph, limits
        As `Problem`; capacities hold in every slot.
    horizon : int, steps, default the critical path at `ii` plus `ii`
        Slots that are full push operations to later ones; the extra steps let them move.
    ii : int >= 1, steps, default MII
    hold_outputs : bool
        Whether values without consumers stay live to the horizon.

    References
    ----------
    Cai et al., "GauS", arXiv 2602.20427, formulation C; Rau, "Iterative modulo scheduling", MICRO 1994.

    Examples
    --------
    >>> loop = Graph.build(["a", "b"], [("a", "b"), {"src": "b", "dst": "a", "distance": 1}])
    >>> problem = ModuloProblem(loop)
    >>> problem.ii, problem.objective(problem.schedule([0, 1]))
    (2, 1)
    """

    ii: int | None = None
    hold_outputs: bool = False

    formulation: ClassVar[str] = "C"

    def _check_own(self) -> None:
        ii = mii(self.graph, self.limits) if self.ii is None else self.ii
        self._set("ii", integer(ii, "ii", 1, ProblemError))

    def _default_horizon(self) -> int:
        assert self.ii is not None
        try:
            return min(critical_path_length(self.graph, self.ii) + self.ii, MAX_INTEGER)
        except ProblemError:  # below RecMII: `infeasibility` says so
            return critical_path_length(self.graph) + self.ii

    @property
    def interval(self) -> int | None:
        """The initiation interval."""
        return self.ii

    @property
    def hold_to(self) -> int | None:
        """Step to which outputs are held, None where they are not."""
        return self.horizon if self.hold_outputs else None

    def objective(self, schedule: Schedule) -> int:
        """Return the modulo footprint, bits."""
        return schedule.footprint(self.hold_to)

    def terms(self, schedule: Schedule) -> dict[str, Any]:
        """Return the terms, the footprint with outputs held if the problem says so."""
        return super().terms(schedule) | {"footprint": schedule.footprint(self.hold_to)}

    def bound(self) -> int:
        """Return `bounds.modulo_footprint_bound`."""
        assert self.ii is not None
        return bounds.modulo_footprint_bound(self.graph, self.ii)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as in the result file."""
        return super().to_dict() | ({"hold_outputs": True} if self.hold_outputs else {})


@dataclass(frozen=True, eq=False, repr=False)
class LatencyProblem(Problem):
    """Formulation R: minimise the makespan under capacities, the classical resource-constrained problem.

    Parameters
    ----------
    graph, limits
        As `Problem`.
    horizon : int, steps, default None
        Unlimited by default: then a schedule always exists if every operation fits its limit.

    References
    ----------
    De Micheli, "Synthesis and Optimization of Digital Circuits", McGraw-Hill 1994, section 5.4.

    Examples
    --------
    >>> problem = LatencyProblem(Graph.build(["a", "b", "c"]), limits={"op": 2})
    >>> problem.objective(problem.schedule([0, 0, 1])), problem.bound()
    (2, 2)
    """

    formulation: ClassVar[str] = "R"

    def _default_horizon(self) -> None:
        return None

    def objective(self, schedule: Schedule) -> int:
        """Return the makespan, steps."""
        return schedule.makespan

    def bound(self) -> int:
        """Return `bounds.makespan_bound`."""
        assert self.limits is not None
        return bounds.makespan_bound(self.graph, self.limits)


#: The problem class of each formulation letter.
PROBLEMS: dict[str, type[Problem]] = {
    "A": ResourceProblem,
    "B": FootprintProblem,
    "C": ModuloProblem,
    "R": LatencyProblem,
}


def _checked_limits(graph: Graph, limits: Mapping[str, int] | None) -> Mapping[str, int]:
    limits = graph.limits if limits is None else limits
    if not isinstance(limits, Mapping):
        raise ProblemError(f"limits must map resources to units, got {short(limits)}")
    checked, used = {}, set(graph.resources)
    for resource, units in limits.items():
        units = integer(units, f"limit of {resource}", 0, ProblemError)
        if resource not in used:
            _warn_unused(graph, f"limit of {resource!r}", resource)
            continue
        if units == 0:
            raise ProblemError(
                f"limit of {resource} must be >= 1, got 0: graph {graph.name!r} has operations on it; "
                "leave the limit out for unlimited units"
            )
        checked[resource] = units
    return MappingProxyType(checked)


def _checked_weights(graph: Graph, weights: int | Mapping[str, int] | None) -> Mapping[str, int]:
    if not isinstance(weights, Mapping):
        weights = dict.fromkeys(graph.resources, 1 if weights is None else weights)
    checked, used = {}, set(graph.resources)
    for resource, weight in weights.items():
        if resource not in used:
            _warn_unused(graph, f"resource weight of {resource!r}", resource)
            continue
        checked[resource] = integer(weight, f"resource weight of {resource}", 0, ProblemError)
    return MappingProxyType(checked)


def _warn_unused(graph: Graph, what: str, resource: str) -> None:
    shared = graph.resource_of_type.get(resource)
    hint = (
        f"operations of this type use the resource {shared!r}"
        if shared
        else f"the graph has {', '.join(map(repr, graph.resources)) or 'none'}"
    )
    warnings.warn(
        f"{what} has no effect: no operation of graph {graph.name!r} uses that resource; {hint}",
        GausLabWarning,
        stacklevel=2,
    )


def _balanced_weights(graph: Graph) -> tuple[int, int]:
    """Return (resource_weight, communication_weight) from the peak usage and communication of ASAP."""
    schedule = Schedule(graph, asap(graph))
    peak, communication = sum(schedule.peak_usage.values()), schedule.communication
    if not peak or not communication:
        return 1, 1
    return max(1, round(Fraction(communication, peak))), max(1, round(Fraction(peak, communication)))
