"""The best objective over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gaus_lab.views.info import Curve, RunRow, best_curve, curves
from gaus_lab.views.plots.canvas import GREY, colour, legend_right, new_picture, nothing, panels, panels_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gaus_lab.views.plots.picture import Picture

#: Earliest time on the logarithmic axis, seconds: what comes before it is the start of the clock.
FIRST = 1e-3


def plot_quality_over_time(rows: Sequence[RunRow]) -> Picture:
    """Return a panel an instance: the best objective over seconds, thin for each seed, thick for the best of them.

    A curve ends where the last of its runs ended. The time axis is logarithmic and begins at 1 ms.

    Parameters
    ----------
    rows : sequence of `RunRow`
        Such as the records of `compare`.

    Raises
    ------
    GausLabError
        matplotlib is not installed.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> row = Record("g", 3, 2, "A", 4, None, "", "gaus", 0, seconds=2.0, history=((0.1, 9), (0.5, 7)))
    >>> plot_quality_over_time([row]).axes[0].get_xlabel()
    'seconds'
    """
    found = curves(rows)
    names = list(dict.fromkeys(curve.instance for curve in found))
    labels = list(dict.fromkeys(curve.label for curve in found))
    picture = new_picture(*panels_size(len(names)))
    if not found:
        return nothing(picture, "no run found a schedule")
    all_axes = panels(picture, names)
    for name, axes in zip(names, all_axes, strict=True):
        own = [curve for curve in found if curve.instance == name]
        for k, label in enumerate(labels):
            runs = [curve for curve in own if curve.label == label]
            _draw(axes, runs, colour(k), label)
        _finish(axes, [curve.bound for curve in own if curve.bound is not None])
    for axes in all_axes[::3]:
        axes.set_ylabel("best objective")
    legend_right(picture, all_axes[0])
    return picture


def _draw(axes: Axes, runs: list[Curve], shade: str, label: str) -> None:
    """Draw the runs of a solver; without any, an empty line, so that every panel has every label."""
    if not runs:
        axes.plot([], [], color=shade, label=label)
        return
    if len(runs) > 1:
        for curve in runs:
            axes.step(
                _clipped(curve.seconds), curve.objective, where="post", color=shade, alpha=0.3, linewidth=0.9
            )
    best = best_curve(runs)
    at = _clipped(best.seconds)
    axes.step(at, best.objective, where="post", color=shade, linewidth=1.8, label=label)
    axes.plot(at[-1], best.objective[-1], "o", color=shade, markersize=4)


def _finish(axes: Axes, bounds: list[int]) -> None:
    axes.set_xscale("log")
    axes.set_xlabel("seconds")
    if bounds:
        axes.axhline(max(bounds), color=GREY, linestyle=":", linewidth=1.2, label="lower bound")


def _clipped(seconds: tuple[float, ...]) -> list[float]:
    return [max(value, FIRST) for value in seconds]
