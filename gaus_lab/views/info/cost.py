"""Costs by instance, as multiples of a reference."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gaus_lab.errors import GausLabError
from gaus_lab.views.info.rows import RunRow, in_order, instance_names, solver_labels


@dataclass(frozen=True)
class Bar:
    """A solver's cost on one instance as a multiple of the reference's median.

    Attributes
    ----------
    median, low, high : float
        Over the seeds. The median is that of one of the runs: the lower one of two in the middle.
    runs : int
        Runs that found a schedule.
    """

    median: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True)
class RelativeCost:
    """Bars by instance and solver.

    Attributes
    ----------
    reference : str
        Label whose median is 1 on every instance.
    instances, labels : tuple of str
    bars : tuple of tuples of Bar or None
        ``bars[k][i]``: label k on instance i; None where one of both has no schedule, or the reference costs 0.
    means : tuple of float or None
        Geometric mean of a label's medians over the instances on which all labels have a bar; None without any,
        or with a median of 0.
    """

    reference: str
    instances: tuple[str, ...]
    labels: tuple[str, ...]
    bars: tuple[tuple[Bar | None, ...], ...]
    means: tuple[float | None, ...]


def relative_cost(rows: Sequence[RunRow], reference: str | None = None) -> RelativeCost:
    """Return each solver's objective on each instance as a multiple of the reference's median.

    Parameters
    ----------
    rows : sequence of `RunRow`
    reference : str, default the first solver
        Label as of `solver_labels`.

    Raises
    ------
    GausLabError
        No run has the label `reference`; the known ones are listed.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> rows = [Record("g", 3, 2, "A", 4, None, "", s, 0, objective=v) for s, v in [("list", 8), ("gaus", 6)]]
    >>> relative_cost(rows, "list").bars[1]
    (Bar(median=0.75, low=0.75, high=0.75, runs=1),)
    """
    return _relative(rows, solver_labels(rows), reference, "solver")


def ablation(rows: Sequence[RunRow], setting: str = "family", reference: object = None) -> RelativeCost:
    """Return the objective for each value of a setting, such as the family of distributions, by instance.

    Parameters
    ----------
    rows : sequence of `RunRow`
        Those of solvers without the setting are left out.
    setting : str
    reference : object, default the first value

    Raises
    ------
    GausLabError
        No run has the setting, or none that value.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> problem = ("g", 3, 2, "A", 4, None, "", "gaus", 0)
    >>> families = [("gaussian", 8), ("cauchy", 10)]
    >>> rows = [Record(*problem, objective=v, settings=(("family", f),)) for f, v in families]
    >>> ablation(rows).labels, ablation(rows).means
    (('gaussian', 'cauchy'), (1.0, 1.25))
    """
    with_setting = [row for row in rows if setting in dict(row.settings)]
    if rows and not with_setting:
        raise GausLabError(
            f"no run has the setting {setting!r}; known: {', '.join(known_settings(rows)) or 'none'}"
        )
    labels = [str(dict(row.settings)[setting]) for row in with_setting]
    return _relative(with_setting, labels, None if reference is None else str(reference), setting)


def known_settings(rows: Iterable[RunRow]) -> list[str]:
    """Return the names of all settings of the rows' solvers, sorted."""
    return sorted({key for row in rows for key, _ in row.settings})


def _relative(rows: Sequence[RunRow], labels: list[str], reference: str | None, what: str) -> RelativeCost:
    known, names = in_order(labels), instance_names(rows)
    instances = in_order(names)
    if reference is None:
        reference = known[0] if known else ""
    elif reference not in known:
        raise GausLabError(f"no run has the {what} {reference!r}; known: {', '.join(known) or 'none'}")
    found: dict[tuple[str, str], list[int]] = {}
    for row, label, name in zip(rows, labels, names, strict=True):
        if row.objective is not None:
            found.setdefault((label, name), []).append(row.objective)
    bars = tuple(
        tuple(_bar(found.get((label, name), []), found.get((reference, name), [])) for name in instances)
        for label in known
    )
    return RelativeCost(reference, instances, known, bars, _means(bars))


def _bar(values: list[int], of_reference: list[int]) -> Bar | None:
    unit = statistics.median_low(of_reference) if of_reference else 0
    if not unit or not values:
        return None
    return Bar(statistics.median_low(values) / unit, min(values) / unit, max(values) / unit, len(values))


def _means(bars: tuple[tuple[Bar | None, ...], ...]) -> tuple[float | None, ...]:
    complete = [column for column in zip(*bars, strict=True) if None not in column]
    by_label = zip(*complete, strict=True) if complete else ([] for _ in bars)
    return tuple(_geometric_mean([bar.median for bar in row if bar is not None]) for row in by_label)


def _geometric_mean(values: list[float]) -> float | None:
    if not values or min(values) <= 0:
        return None
    return math.exp(math.fsum(map(math.log, values)) / len(values))
