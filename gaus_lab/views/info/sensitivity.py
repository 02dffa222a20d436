"""How the objective depends on the value of one setting."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gaus_lab.errors import GausLabError
from gaus_lab.views.info.cost import known_settings
from gaus_lab.views.info.rows import RunRow, instance_names, solver_labels


@dataclass(frozen=True)
class Point:
    """The objective at one value of a setting: median (one of the runs), least and greatest over the seeds.

    Attributes
    ----------
    value : object
        Of the setting, such as 0.5; None is the solver's own choice.
    median, low, high : int
    runs : int
        Runs that found a schedule.
    """

    value: Any
    median: int
    low: int
    high: int
    runs: int


@dataclass(frozen=True)
class Sensitivity:
    """One line: the objective of a solver on an instance over the values of a setting.

    Attributes
    ----------
    instance, solver, setting : str
        In `solver` stand the other settings in which the runs differ, as in ``gaus rho=0.2``.
    points : tuple of Point
        Numbers in increasing order, before them None, behind them other values as they appear.
    bound : int or None
        Proven lower bound.
    """

    instance: str
    solver: str
    setting: str
    points: tuple[Point, ...]
    bound: int | None = None


def sensitivity(rows: Sequence[RunRow], setting: str) -> tuple[Sensitivity, ...]:
    """Return a line an instance and solver: the objective at each value of a setting.

    Parameters
    ----------
    rows : sequence of `RunRow`
        Such as those of ``compare(problems, [GauS(kappa=k) for k in (0.1, 0.3, 1)], range(5))``. Rows without the
        setting or without a schedule are left out.
    setting : str
        Such as ``"kappa"``, ``"rho"`` or ``"learning_rate"``.

    Raises
    ------
    GausLabError
        No run has the setting; the known ones are listed.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> problem = ("g", 3, 2, "A", 4, None, "", "gaus")
    >>> runs = [(0.5, 0, 7), (0.5, 1, 8), (0.1, 0, 9)]
    >>> rows = [Record(*problem, seed, objective=v, settings=(("kappa", k),)) for k, seed, v in runs]
    >>> [line] = sensitivity(rows, "kappa")
    >>> [(point.value, point.low, point.high) for point in line.points]
    [(0.1, 9, 9), (0.5, 7, 8)]
    """
    if rows and not any(setting in dict(row.settings) for row in rows):
        known = ", ".join(known_settings(rows)) or "none"
        raise GausLabError(f"no run has the setting {setting!r}; known: {known}")
    lines: dict[tuple[str, str], dict[str, list[tuple[Any, int]]]] = {}
    bounds: dict[str, int] = {}
    others = [_Without(row, setting) for row in rows]
    for row, label, name in zip(rows, solver_labels(others), instance_names(rows), strict=True):
        if row.bound is not None:
            bounds[name] = max(row.bound, bounds.get(name, row.bound))
        settings = dict(row.settings)
        if row.objective is not None and setting in settings:
            runs = lines.setdefault((name, label), {}).setdefault(repr(settings[setting]), [])
            runs.append((settings[setting], row.objective))
    return tuple(
        Sensitivity(name, label, setting, _points(list(groups.values())), bounds.get(name))
        for (name, label), groups in lines.items()
    )


class _Without:
    """A row without one of its settings."""

    def __init__(self, row: RunRow, setting: str) -> None:
        self._row = row
        self.settings = tuple((key, value) for key, value in row.settings if key != setting)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)


def _points(groups: list[list[tuple[Any, int]]]) -> tuple[Point, ...]:
    points = []
    for group in sorted(groups, key=lambda group: _rank(group[0][0])):
        values = [objective for _, objective in group]
        points.append(
            Point(group[0][0], statistics.median_low(values), min(values), max(values), len(values))
        )
    return tuple(points)


def _rank(value: object) -> tuple[int, float]:
    """Return a key for sorting that leaves text in its order."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return 1, value
    return (0, 0) if value is None else (2, 0)
