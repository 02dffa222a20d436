"""Costs of solvers beside one another: by instance, and by the value of a setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaus_lab.views.info import (
    RelativeCost,
    RunRow,
    Sensitivity,
    ablation,
    relative_cost,
    sensitivity,
)
from gaus_lab.views.plots.canvas import (
    GREY,
    colour,
    legend_right,
    marker,
    new_picture,
    nothing,
    panels,
    panels_size,
    safe,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gaus_lab.views.plots.picture import Picture

MEAN = "geometric mean"

#: Above this multiple of the reference bars are cut, and their heights written into them.
TALLEST = 3.0
#: With less than this factor between the largest and the smallest value there are points in place of bars.
CLOSE = 1.5


def plot_relative_cost(rows: Sequence[RunRow], reference: str | None = None) -> Picture:
    """Return bars by instance and solver: the objective as a multiple of the reference's median, 1 = equal.

    A whisker spans the seeds. Bars above 3 are cut and say how high they are; where all are close to 1 they are points
    on an axis of their own. A cross marks a solver without a schedule. The last group is the geometric mean over
    the instances that all solvers have.

    Parameters
    ----------
    rows : sequence of `RunRow`
        Such as the records of `compare`.
    reference : str, default the first solver

    Raises
    ------
    GausLabError
        No run has the label `reference`; matplotlib is not installed.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> problem = gl.ResourceProblem(gl.load("hal"), horizon=9)
    >>> records = gl.compare([problem], [gl.Asap(), gl.ListScheduling()])
    >>> picture = plot_relative_cost(records.rows, "list")
    >>> [axes.get_ylabel() for axes in picture.axes]
    ['objective / list']
    """
    return _bars(relative_cost(rows, reference), "solver")


def plot_ablation(rows: Sequence[RunRow], setting: str = "family", reference: object = None) -> Picture:
    """Return bars by instance and value of a setting, such as the family of distributions of GauS.

    Parameters
    ----------
    rows : sequence of `RunRow`
    setting : str
    reference : object, default the first value

    Raises
    ------
    GausLabError
        No run has the setting, or none the value; matplotlib is not installed.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> problem = ("g", 3, 2, "A", 4, None, "", "gaus", 0)
    >>> families = [("gaussian", 8), ("cauchy", 10)]
    >>> rows = [Record(*problem, objective=v, settings=(("family", f),)) for f, v in families]
    >>> plot_ablation(rows).axes[0].get_ylabel()
    'objective / gaussian'
    """
    return _bars(ablation(rows, setting, reference), setting)


def plot_sensitivity(rows: Sequence[RunRow], setting: str) -> Picture:
    """Return a panel an instance: the objective over the values of a setting, with its range over the seeds.

    Values that are all positive numbers and span a factor of 10 stand on a logarithmic axis.

    Parameters
    ----------
    rows : sequence of `RunRow`
    setting : str
        Such as ``"kappa"``, ``"rho"`` or ``"learning_rate"``.

    Raises
    ------
    GausLabError
        No run has the setting; matplotlib is not installed.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> problem = ("g", 3, 2, "A", 4, None, "", "gaus", 0)
    >>> rows = [Record(*problem, objective=v, settings=(("kappa", k),)) for k, v in [(0.1, 9), (1.0, 8)]]
    >>> plot_sensitivity(rows, "kappa").axes[0].get_xscale()
    'log'
    """
    lines = sensitivity(rows, setting)
    names = list(dict.fromkeys(line.instance for line in lines))
    solvers = list(dict.fromkeys(line.solver for line in lines))
    picture = new_picture(*panels_size(len(names)))
    if not lines:
        return nothing(picture, "no run found a schedule")
    all_axes = panels(picture, names)
    for name, axes in zip(names, all_axes, strict=True):
        own = [line for line in lines if line.instance == name]
        places = _places(axes, own)
        for line in own:
            _line(axes, line, places, solvers.index(line.solver))
        bound = own[0].bound
        if bound is not None:
            axes.axhline(bound, color=GREY, linestyle=":", linewidth=1.2, label="lower bound")
        axes.set_xlabel(safe(setting))
    for axes in all_axes[::3]:
        axes.set_ylabel("objective")
    legend_right(picture, all_axes[0])
    return picture


def _bars(data: RelativeCost, what: str) -> Picture:
    groups = [*data.instances, MEAN] if len(data.instances) > 1 else list(data.instances)
    picture = new_picture(max(5.0, 2.6 + len(groups) * (0.35 + 0.16 * len(data.labels))), 3.6)
    if not any(bar is not None for row in data.bars for bar in row):
        return nothing(picture, "no instance has a schedule of both the reference and another")
    axes = picture.subplots()
    tidy(axes)
    width = 0.8 / len(data.labels)
    bars_of_all = [bar for row in data.bars for bar in row if bar is not None]
    # Small differences do not show on an axis from 0, and bars on any other axis would lie: then there are points.
    close = max(bar.high for bar in bars_of_all) < CLOSE * min(bar.low for bar in bars_of_all)
    for k, (label, row, mean) in enumerate(zip(data.labels, data.bars, data.means, strict=True)):
        left = -0.4 + width * (k + 0.5)
        there = [i for i, bar in enumerate(row) if bar is not None]
        bars = [bar for bar in row if bar is not None]
        heights, at = [bar.median for bar in bars], [i + left for i in there]
        if mean is not None and len(groups) > len(data.instances):
            heights, at = [*heights, mean], [*at, len(data.instances) + left]
        if close:
            axes.plot(at, heights, marker(k), color=colour(k), markersize=5, label=label)
        else:
            axes.bar(at, heights, width * 0.92, color=colour(k), label=label)
            _name_tall(axes, at, heights)
        _whiskers(axes, at, bars, colour(k) if close else "black")
        gone = [i + left for i, bar in enumerate(row) if bar is None]
        axes.plot(gone, [1 if close else 0] * len(gone), "x", color=colour(k), markersize=5, clip_on=False)
    if not close and max(bar.high for bar in bars_of_all) > TALLEST:
        axes.set_ylim(0, TALLEST)
    axes.axhline(1, color="black", linewidth=0.9)
    if len(groups) > len(data.instances):
        axes.axvline(len(data.instances) - 0.5, color=GREY, linewidth=0.8, linestyle=":")
    _group_names(axes, groups)
    axes.set_ylabel(f"objective / {safe(data.reference)}")
    legend_right(picture, axes, safe(what))
    return picture


def _whiskers(axes: Axes, at: list[float], bars: Sequence[Any], shade: str) -> None:
    for x, bar in zip(at, bars, strict=False):
        if bar.high > bar.low:
            axes.vlines(x, bar.low, bar.high, color=shade, linewidth=1.1)


def _name_tall(axes: Axes, at: list[float], heights: list[float]) -> None:
    """Write the heights of bars that the axis cuts into their tops."""
    for x, height in zip(at, heights, strict=True):
        if height > TALLEST:
            axes.text(
                x,
                TALLEST * 0.98,
                f"{height:.1f}",
                rotation=90,
                ha="center",
                va="top",
                fontsize=7,
                color="white",
            )


def _group_names(axes: Axes, groups: list[str]) -> None:
    names = [safe(name) for name in groups]
    lengthy = sum(map(len, names)) > 11 * len(names) or max(map(len, names)) > 14
    axes.set_xticks(
        range(len(names)), names, rotation=35 if lengthy else 0, ha="right" if lengthy else "center"
    )
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(names) - 0.4)


def _places(axes: Axes, lines: list[Sensitivity]) -> dict[str, float]:
    """Return where each value stands on the x axis: at itself if all are numbers, else one after another."""
    values = {repr(point.value): point.value for line in lines for point in line.points}
    numbers = [v for v in values.values() if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(numbers) < len(values):
        axes.set_xticks(range(len(values)), [safe(str(v), 12) for v in values.values()])
        return {key: float(k) for k, key in enumerate(values)}
    if min(numbers) > 0 and max(numbers) >= 10 * min(numbers):
        axes.set_xscale("log")
    return {key: float(value) for key, value in values.items()}


def _line(axes: Axes, line: Sensitivity, places: dict[str, float], k: int) -> None:
    at = [places[repr(point.value)] for point in line.points]
    low, high = [point.low for point in line.points], [point.high for point in line.points]
    axes.fill_between(at, low, high, color=colour(k), alpha=0.15, linewidth=0)
    medians = [point.median for point in line.points]
    axes.plot(at, medians, color=colour(k), marker=marker(k), markersize=4, linewidth=1.4, label=line.solver)
