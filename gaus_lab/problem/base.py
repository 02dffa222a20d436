"""`Problem`: what the four formulations share."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from gaus_lab import bounds, constraints
from gaus_lab.analysis import check_horizon, critical_path_length, resource_work
from gaus_lab.checks import integer, short
from gaus_lab.constraints import Violation
from gaus_lab.errors import GausLabWarning, ProblemError
from gaus_lab.exact import product, total
from gaus_lab.graph import Graph
from gaus_lab.schedule import Schedule


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
        if not self.limits or self.horizon is None:
            return None
        if self.interval is None:
            forced, where = bounds.peak_bound(self.graph, self.horizon), "in some step"
        else:
            forced = bounds.modulo_peak_bound(self.graph, self.horizon, self.interval)
            where = f"in some slot of II {self.interval}"
        for resource, least in forced.items():
            if least > self.limits.get(resource, least):
                return (
                    f"dependences and horizon {self.horizon} force {least} units of {resource} {where}, "
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


def _checked_limits(graph: Graph, limits: Mapping[str, int] | None) -> Mapping[str, int]:
    limits = graph.limits if limits is None else limits
    if not isinstance(limits, Mapping):
        raise ProblemError(f"limits must map resources to units, got {short(limits)}")
    checked, used = {}, set(graph.resources)
    for resource, units in limits.items():
        units = integer(units, f"limit of {resource}", 0, ProblemError)
        if resource not in used:
            warn_unused(graph, f"limit of {resource!r}", resource)
            continue
        if units == 0:
            raise ProblemError(
                f"limit of {resource} must be >= 1, got 0: graph {graph.name!r} has operations on it; "
                "leave the limit out for unlimited units"
            )
        checked[resource] = units
    return MappingProxyType(checked)


def warn_unused(graph: Graph, what: str, resource: str) -> None:
    """Warn that a limit or weight names a resource that no operation uses."""
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
