"""Mean and spread of the objective over the seeds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gaus_lab.views.info.rows import RunRow, instance_names, solver_labels


@dataclass(frozen=True)
class Spread:
    """The objectives of a solver on an instance.

    Attributes
    ----------
    instance, label : str
    runs, found : int
        Runs, and those of them that found a schedule.
    mean, deviation : float or None
        Over the runs that found one; the deviation is that of a sample, None with fewer than two.
    low, high : int or None
    bound : int or None
        Proven lower bound.
    """

    instance: str
    label: str
    runs: int
    found: int
    mean: float | None
    deviation: float | None
    low: int | None
    high: int | None
    bound: int | None


def spreads(rows: Sequence[RunRow]) -> tuple[Spread, ...]:
    """Return mean and spread over the seeds of each solver on each instance, in order of appearance.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> rows = [Record("g", 3, 2, "A", 4, None, "", "gaus", s, 0, objective=v) for s, v in enumerate([8, 6, 7])]
    >>> [one] = spreads(rows)
    >>> one.mean, one.deviation, one.low, one.high
    (7, 1.0, 6, 8)
    """
    groups: dict[tuple[str, str], list[RunRow]] = {}
    for row, label, name in zip(rows, solver_labels(rows), instance_names(rows), strict=True):
        groups.setdefault((name, label), []).append(row)
    return tuple(_spread(name, label, group) for (name, label), group in groups.items())


def _spread(name: str, label: str, group: list[RunRow]) -> Spread:
    values = [row.objective for row in group if row.objective is not None]
    bounds = [row.bound for row in group if row.bound is not None]
    return Spread(
        instance=name,
        label=label,
        runs=len(group),
        found=len(values),
        mean=statistics.mean(values) if values else None,
        deviation=float(statistics.stdev(values)) if len(values) > 1 else None,
        low=min(values, default=None),
        high=max(values, default=None),
        bound=max(bounds, default=None),
    )


def spread_header() -> list[str]:
    """Return the words above the columns of `spread_cells`."""
    return ["instance", "solver", "found", "mean", "deviation", "best", "worst", "bound", "gap of the mean"]


def spread_cells(spread: Iterable[Spread]) -> list[list[str]]:
    """Return the rows as text, for a table of any kind.

    Examples
    --------
    >>> spread_cells([Spread("g", "gaus", 3, 3, 7.0, 1.0, 6, 8, 5)])
    [['g', 'gaus', '3 of 3', '7.0', '1.0', '6', '8', '5', '40.0 %']]
    """
    return [
        [
            row.instance,
            row.label,
            f"{row.found} of {row.runs}",
            _shown(row.mean, ".1f"),
            _shown(row.deviation, ".1f"),
            _shown(row.low, "d"),
            _shown(row.high, "d"),
            _shown(row.bound, "d"),
            f"{100 * (row.mean / row.bound - 1):.1f} %" if row.mean is not None and row.bound else "",
        ]
        for row in spread
    ]


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
