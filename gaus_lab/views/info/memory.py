"""Memory and time of runs by the size of their graphs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from gaus_lab.views.info.rows import RunRow, in_order, solver_labels


@dataclass(frozen=True)
class Scaling:
    """What a solver needs, by the size of the graph.

    Attributes
    ----------
    label : str
    ops : tuple of int
        Numbers of operations, increasing.
    seconds, memory_mb : tuple of float or None
        Medians over the runs of that size: wall-clock time; most resident memory, 10**6 bytes. None if unknown.
    """

    label: str
    ops: tuple[int, ...]
    seconds: tuple[float | None, ...]
    memory_mb: tuple[float | None, ...]


def scaling(rows: Sequence[RunRow]) -> tuple[Scaling, ...]:
    """Return seconds and memory of each solver by the number of operations.

    Memory is known of runs in processes of their own, see `gaus_lab.compare.FreshProcesses`.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> row = Record("g", 30, 20, "A", 4, None, "", "list", 0, seconds=0.5, peak_memory_mb=80.0)
    >>> scaling([row])
    (Scaling(label='list', ops=(30,), seconds=(0.5,), memory_mb=(80.0,)),)
    """
    labels = solver_labels(rows)
    result = []
    for label in in_order(labels):
        own = [row for row, other in zip(rows, labels, strict=True) if other == label]
        sizes = sorted({row.ops for row in own})
        groups = [[row for row in own if row.ops == ops] for ops in sizes]
        seconds = tuple(_median([row.seconds for row in group]) for group in groups)
        memory = tuple(_median([row.peak_memory_mb for row in group]) for group in groups)
        result.append(Scaling(label, tuple(sizes), seconds, memory))
    return tuple(result)


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
