"""Formulation A: peak usage and communication."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

from gaus_lab import bounds
from gaus_lab.analysis import asap
from gaus_lab.checks import integer, short
from gaus_lab.errors import ProblemError
from gaus_lab.graph import Graph
from gaus_lab.problem.base import Problem, warn_unused
from gaus_lab.schedule import Schedule


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


def _checked_weights(graph: Graph, weights: int | Mapping[str, int] | None) -> Mapping[str, int]:
    if not isinstance(weights, Mapping):
        weights = dict.fromkeys(graph.resources, 1 if weights is None else weights)
    checked, used = {}, set(graph.resources)
    for resource, weight in weights.items():
        if resource not in used:
            warn_unused(graph, f"resource weight of {resource!r}", resource)
            continue
        checked[resource] = integer(weight, f"resource weight of {resource}", 0, ProblemError)
    return MappingProxyType(checked)


def _balanced_weights(graph: Graph) -> tuple[int, int]:
    """Return (resource_weight, communication_weight) from the peak usage and communication of ASAP."""
    schedule = Schedule(graph, asap(graph))
    peak, communication = sum(schedule.peak_usage.values()), schedule.communication
    if not peak or not communication:
        return 1, 1
    return max(1, round(Fraction(communication, peak))), max(1, round(Fraction(peak, communication)))
