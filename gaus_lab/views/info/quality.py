"""Quality over time: the best objective so far as a step function of seconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import merge

from gaus_lab.views.info.rows import RunRow, instance_names, solver_labels


@dataclass(frozen=True)
class Curve:
    """The best objective of a run as a step function of time.

    Attributes
    ----------
    instance, label : str
    seed : int or None
        None for the best of several runs.
    seconds : tuple of float
        Times of the improvements, increasing; the last one is the end of the run.
    objective : tuple of int
        ``objective[k]`` holds from ``seconds[k]`` to before ``seconds[k + 1]``; before the first there is none.
    bound : int or None
        Proven lower bound.
    """

    instance: str
    label: str
    seed: int | None
    seconds: tuple[float, ...]
    objective: tuple[int, ...]
    bound: int | None = None

    def at(self, seconds: float) -> int | None:
        """Return the best objective at a time; None before the first schedule."""
        return next(
            (v for t, v in zip(self.seconds[::-1], self.objective[::-1], strict=True) if t <= seconds), None
        )

    def reaches(self, objective: float) -> float | None:
        """Return the seconds after which the objective is at most so large; None if it never is."""
        return next((t for t, v in zip(self.seconds, self.objective, strict=True) if v <= objective), None)


def step_curve(
    history: Iterable[tuple[float, int]], end: float | None = None
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Return times and values of a step curve from the improvements of a run.

    Parameters
    ----------
    history : iterable of (seconds, objective)
        In the order of time. An entry that is no improvement is left out; of several at one time the last stays.
    end : float, optional, seconds
        Where the curve ends, if that is after the last improvement.

    Returns
    -------
    seconds : tuple of float, increasing
    objective : tuple of int

    Examples
    --------
    >>> step_curve([(0.0, 9), (0.1, 9), (0.5, 7), (0.5, 6)], end=2.0)
    ((0.0, 0.5, 2.0), (9, 6, 6))
    """
    times: list[float] = []
    values: list[int] = []
    for seconds, objective in history:
        if values and objective >= values[-1]:
            continue
        if times and seconds <= times[-1]:
            values[-1] = objective
            continue
        times.append(seconds)
        values.append(objective)
    if times and end is not None and end > times[-1]:
        times.append(end)
        values.append(values[-1])
    return tuple(times), tuple(values)


def curves(rows: Sequence[RunRow]) -> tuple[Curve, ...]:
    """Return the curve of every run that found a schedule, in the order of the rows.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> row = Record("g", 3, 2, "A", 4, None, "", "gaus", 0, seconds=2.0, history=((0.1, 9), (0.5, 7)))
    >>> [curve] = curves([row])
    >>> curve.seconds, curve.objective, curve.at(0.3), curve.reaches(8)
    ((0.1, 0.5, 2.0), (9, 7, 7), 9, 0.5)
    """
    found = []
    for row, label, name in zip(rows, solver_labels(rows), instance_names(rows), strict=True):
        seconds, objective = step_curve(row.history, row.seconds)
        if seconds:
            found.append(Curve(name, label, row.seed, seconds, objective, row.bound))
    return tuple(found)


def best_curve(runs: Sequence[Curve]) -> Curve:
    """Return the curve of the best of several runs that were begun together: the lower envelope.

    Examples
    --------
    >>> a, b = (Curve("g", "gaus", s, t, v) for s, t, v in [(0, (0.1, 1.0), (9, 7)), (1, (0.2, 2.0), (8, 8))])
    >>> best_curve([a, b]).seconds, best_curve([a, b]).objective
    ((0.1, 0.2, 1.0, 2.0), (9, 8, 7, 7))
    """
    steps = merge(*(zip(curve.seconds, curve.objective, strict=True) for curve in runs))
    seconds, objective = step_curve(steps, max(curve.seconds[-1] for curve in runs))
    bounds = [curve.bound for curve in runs if curve.bound is not None]
    return Curve(runs[0].instance, runs[0].label, None, seconds, objective, max(bounds, default=None))


def time_to_quality(
    rows: Sequence[RunRow], within: float = 0.05
) -> dict[tuple[str, str], tuple[float | None, ...]]:
    """Return how long each run took to come close to the best objective that any run found on its instance.

    Parameters
    ----------
    rows : sequence of `RunRow`
    within : float >= 0
        Share by which the objective may exceed the best one.

    Returns
    -------
    dict of (instance, label) to tuple of float or None
        Seconds, by run; None for a run that never came so close.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> histories = {"list": ((0.0, 12),), "gaus": ((0.1, 14), (0.6, 10))}
    >>> rows = [Record("g", 3, 2, "A", 4, None, "", s, 0, history=h) for s, h in histories.items()]
    >>> time_to_quality(rows, within=0.1)
    {('g', 'list'): (None,), ('g', 'gaus'): (0.6,)}
    """
    labels, names = solver_labels(rows), instance_names(rows)
    best: dict[str, int] = {}
    for row, name in zip(rows, names, strict=True):
        for _, objective in row.history:
            best[name] = min(objective, best.get(name, objective))
    times: dict[tuple[str, str], tuple[float | None, ...]] = {}
    for row, label, name in zip(rows, labels, names, strict=True):
        limit = best.get(name, 0) * (1 + within)
        reached = next((seconds for seconds, objective in row.history if objective <= limit), None)
        times[name, label] = (*times.get((name, label), ()), reached)
    return times
