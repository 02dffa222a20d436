"""The load of a schedule over its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaus_lab.views.info import Load, ResourceLoad
from gaus_lab.views.plots.canvas import GREY, colour, new_picture, panels, safe, whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gaus_lab.views.plots.picture import Picture


def plot_load(load: Load) -> Picture:
    """Return a panel for each resource, units in use by step, and one for the live bits by boundary.

    A dashed line marks a limit; the title has peak, limit and utilisation. Of a loop the steps are the
    slots of its initiation interval.

    Parameters
    ----------
    load : Load
        Of a result, from `gaus_lab.views.info.load_of`.

    Raises
    ------
    GausLabError
        matplotlib is not installed.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> from gaus_lab.views.info import load_of
    >>> result = gl.solve(gl.ResourceProblem(gl.load("hal"), horizon=8), gl.ListScheduling())
    >>> [axes.get_xlabel() for axes in plot_load(load_of(result)).axes]
    ['step', 'step', 'boundary after step']
    """
    used = [resource for resource in load.resources if resource.peak]
    titles = [_title(resource) for resource in used]
    picture = new_picture(3.6 * min(len(used) + 1, 3) + 0.2, 2.7 * -(-(len(used) + 1) // 3) + 0.3)
    *of_resources, of_bits = panels(picture, [*titles, f"live bits: footprint {load.footprint}"])
    word = "step" if load.ii is None else f"slot of II {load.ii}"
    for k, (axes, resource) in enumerate(zip(of_resources, used, strict=True)):
        _steps(axes, resource.usage, colour(k))
        if resource.limit is not None:
            axes.axhline(resource.limit, color="black", linestyle="--", linewidth=1.1)
        axes.set_xlabel(word)
        axes.set_ylabel("units in use")
    _steps(of_bits, load.live_bits, GREY)
    of_bits.set_xlabel(f"boundary after {word}")
    of_bits.set_ylabel("bits")
    picture.suptitle(safe(_heading(load), 80), fontsize=10, x=0.01, ha="left")
    return picture


def _heading(load: Load) -> str:
    return f"{load.graph}, {load.solver}" + ("" if load.ii is None else f", II {load.ii}")


def _title(resource: ResourceLoad) -> str:
    allowed = "" if resource.limit is None else f" of at most {resource.limit}"
    return f"{resource.resource}: peak {resource.peak}{allowed}, {100 * resource.utilisation:.0f} % used"


def _steps(axes: Axes, values: tuple[int, ...], shade: str) -> None:
    """Draw a histogram with a bar of width 1 a step, as one shape: thousands of steps stay fast."""
    edges = [step - 0.5 for step in range(len(values) + 1)]
    axes.stairs(values, edges, fill=True, color=shade)
    axes.set_xlim(-0.5, max(len(values), 1) - 0.5)
    axes.set_ylim(bottom=0)
    for axis in "xy":
        whole(axes, axis)
