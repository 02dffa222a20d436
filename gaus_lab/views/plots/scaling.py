"""Time and memory by the size of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gaus_lab.views.info import RunRow, scaling
from gaus_lab.views.plots.canvas import colour, legend_right, marker, new_picture, nothing, panels

if TYPE_CHECKING:
    from gaus_lab.views.plots.picture import Picture


def plot_scaling(rows: Sequence[RunRow]) -> Picture:
    """Return two panels over the number of operations: median seconds, and median peak memory where it is known.

    Parameters
    ----------
    rows : sequence of `RunRow`
        Such as the records of `compare`, with `FreshProcesses` for the memory.

    Raises
    ------
    GausLabError
        matplotlib is not installed.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> row = Record("g", 30, 20, "A", 4, None, "", "list", 0, seconds=0.5)
    >>> [axes.get_ylabel() for axes in plot_scaling([row]).axes]
    ['seconds']
    """
    lines = scaling(rows)
    series = {
        "wall-clock time": ("seconds", [(line.ops, line.seconds) for line in lines]),
        "peak memory of a run": ("10⁶ bytes", [(line.ops, line.memory_mb) for line in lines]),
    }
    known = {
        title: value
        for title, value in series.items()
        if any(v is not None for _, values in value[1] for v in values)
    }
    picture = new_picture(3.9 * max(len(known), 1) + 1.4, 3.2)
    if not known:
        return nothing(picture, "no run has a time or a memory")
    all_axes = panels(picture, list(known))
    for axes, (unit, values) in zip(all_axes, known.values(), strict=True):
        axes.set_xscale("log")
        axes.set_xlabel("operations")
        axes.set_ylabel(unit)
        if unit == "seconds":
            axes.set_yscale("log")
        for k, (line, (ops, amounts)) in enumerate(zip(lines, values, strict=True)):
            points = [(x, max(y, 1e-3)) for x, y in zip(ops, amounts, strict=True) if y is not None]
            x, y = [point[0] for point in points], [point[1] for point in points]
            axes.plot(x, y, color=colour(k), marker=marker(k), markersize=4, linewidth=1.4, label=line.label)
        if unit != "seconds":
            axes.set_ylim(bottom=0)
    legend_right(picture, all_axes[0])
    return picture
