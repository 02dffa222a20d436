"""One function a constraint; each returns the list of its violations in a schedule, [] where it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gaus_lab.schedule import Schedule


@dataclass(frozen=True)
class Violation:
    """A constraint that a schedule breaks, with both sides of the inequality ``left <= right``.

    Attributes
    ----------
    constraint : str
        ``"precedence"``, ``"start"``, ``"horizon"`` or ``"capacity"``.
    left, right : int
        The two sides: result and start steps, end and horizon, usage and limit.
    ops : tuple of str
        The operations concerned: producer and consumer; the late one; all that are busy in the step.
    edge : int or None
        Index of the dependence, for precedence.
    resource : str or None
        For capacity.
    step : int or None
        For capacity the first step (or slot) of the overload.
    steps : int
        For capacity the number of consecutive steps in which the same operations are busy.
    distance, ii : int, int or None
        For messages.
    """

    constraint: str
    left: int
    right: int
    ops: tuple[str, ...]
    edge: int | None = None
    resource: str | None = None
    step: int | None = None
    steps: int = 1
    distance: int = 0
    ii: int | None = None

    @property
    def amount(self) -> int:
        """By how much the constraint is broken: ``left - right``, positive."""
        return self.left - self.right

    def __str__(self) -> str:
        if self.constraint == "precedence":
            ii = "" if self.ii is None else f", II {self.ii}"
            where = f"{self.ops[0]} -> {self.ops[1]}"
            times = f"result at {self.left}, start at {self.right}"
            return f"precedence {where} violated: {times} (distance {self.distance}{ii})"
        if self.constraint == "start":
            return f"start of {self.ops[0]} violated: starts at {-self.left}, the first step is 0"
        if self.constraint == "horizon":
            return f"horizon of {self.ops[0]} violated: ends at {self.left}, horizon {self.right}"
        what = "step" if self.ii is None else "slot"
        assert self.step is not None
        at = (
            f"{what} {self.step}"
            if self.steps == 1
            else f"{what}s {self.step} to {self.step + self.steps - 1}"
        )
        shown = ", ".join(self.ops[:8]) + (", ..." if len(self.ops) > 8 else "")
        return (
            f"capacity of {self.resource} violated in {at}: usage {self.left}, limit {self.right} ({shown})"
        )


def precedence(schedule: Schedule) -> list[Violation]:
    """Return the dependences broken: ``start[u] + lag(e) <= start[v] + distance * ii`` for every edge.

    Without ii only the edges of distance 0 count (`Schedule.edges`).
    """
    graph = schedule.graph
    broken = np.flatnonzero(schedule.edge_span < graph.lag[schedule.edges])
    violations = []
    for k in broken.tolist():
        e = int(schedule.edges[k])
        u, v, distance = int(graph.src[e]), int(graph.dst[e]), int(graph.distance[e])
        violations.append(
            Violation(
                "precedence",
                left=int(schedule.start[u] + graph.lag[e]),
                right=int(schedule.start[u]) + int(schedule.edge_span[k]),
                ops=(graph.ops[u], graph.ops[v]),
                edge=e,
                distance=distance,
                ii=schedule.ii,
            )
        )
    return violations


def horizon(schedule: Schedule, steps: int | None) -> list[Violation]:
    """Return the operations that start before step 0, or end after the horizon (None: no horizon).

    ``start + max(latency, 1) <= horizon``.
    """
    graph, start = schedule.graph, schedule.start
    early = [Violation("start", -int(start[i]), 0, (graph.ops[i],)) for i in np.flatnonzero(start < 0)]
    if steps is None:
        return early
    end = start + graph.span
    return early + [
        Violation("horizon", int(end[i]), steps, (graph.ops[i],)) for i in np.flatnonzero(end > steps)
    ]


def capacity(schedule: Schedule, limits: Mapping[str, int]) -> list[Violation]:
    """Return the overloads: ``usage <= limit`` in every step, or in every slot with ii.

    One violation for each run of steps in which the same operations are busy.
    """
    violations = []
    for resource, limit in limits.items():
        if resource not in schedule.usage_profiles:
            continue
        profile = schedule.usage_profiles[resource]
        over = np.flatnonzero(profile.values > limit)
        for k, usage in zip(over.tolist(), profile.values[over].tolist(), strict=True):
            step = int(profile.times[k])
            violations.append(
                Violation(
                    "capacity",
                    left=usage,
                    right=limit,
                    ops=_busy_ops(schedule, resource, step),
                    resource=resource,
                    step=step,
                    steps=int(profile.times[k + 1]) - step,
                    ii=schedule.ii,
                )
            )
    return violations


def _busy_ops(schedule: Schedule, resource: str, step: int) -> tuple[str, ...]:
    """Return the operations that hold the resource in a step or slot."""
    graph = schedule.graph
    ops = graph.ops_on(resource)
    since = step - schedule.start[ops]
    if schedule.ii is not None:
        since %= schedule.ii
    busy = (since >= 0) & (since < graph.occupancy[ops]) & (graph.weight[ops] > 0)
    return tuple(graph.ops[i] for i in ops[busy])


def all_hold(schedule: Schedule, steps: int | None, limits: Mapping[str, int]) -> bool:
    """Return whether precedence, horizon and capacity hold, without listing what is broken: fast on bad schedules."""
    graph = schedule.graph
    if (schedule.edge_span < graph.lag[schedule.edges]).any() or (schedule.start < 0).any():
        return False
    if steps is not None and schedule.makespan > steps:
        return False
    profiles = schedule.usage_profiles
    return all(profiles[resource].peak <= limit for resource, limit in limits.items() if resource in profiles)
