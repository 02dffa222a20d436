"""Formulations B and C: the footprint of live values, in a straight line and in a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gaus_lab import bounds
from gaus_lab.analysis import critical_path_length, mii
from gaus_lab.checks import MAX_INTEGER, integer
from gaus_lab.errors import ProblemError
from gaus_lab.problem.base import Problem
from gaus_lab.schedule import Schedule


@dataclass(frozen=True, eq=False, repr=False)
class _MemoryProblem(Problem):
    """What formulations B and C share: the footprint, with outputs held to the horizon or not."""

    hold_outputs: bool = False

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

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as in the result file."""
        return super().to_dict() | ({"hold_outputs": True} if self.hold_outputs else {})


@dataclass(frozen=True, eq=False, repr=False)
class FootprintProblem(_MemoryProblem):
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
    >>> from gaus_lab.graph import Graph
    >>> graph = Graph.build([{"name": "a", "bits": 8}, "b", "c"], [("a", "b"), ("b", "c")])
    >>> FootprintProblem(graph).bound()
    8
    """

    formulation: ClassVar[str] = "B"

    def bound(self) -> int:
        """Return `bounds.footprint_bound`."""
        if self._time_infeasibility():
            return 0
        assert self.horizon is not None
        return bounds.footprint_bound(self.graph, self.horizon)


@dataclass(frozen=True, eq=False, repr=False)
class ModuloProblem(_MemoryProblem):
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
    >>> from gaus_lab.graph import Graph
    >>> loop = Graph.build(["a", "b"], [("a", "b"), {"src": "b", "dst": "a", "distance": 1}])
    >>> problem = ModuloProblem(loop)
    >>> problem.ii, problem.objective(problem.schedule([0, 1]))
    (2, 1)
    """

    ii: int | None = None

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

    def bound(self) -> int:
        """Return `bounds.modulo_footprint_bound`."""
        assert self.ii is not None
        horizon = None if self._time_infeasibility() else self.horizon
        return bounds.modulo_footprint_bound(self.graph, self.ii, horizon)
