"""What all pictures share: their size, colours and axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gaus_lab.checks import short
from gaus_lab.errors import GausLabError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gaus_lab.views.plots.picture import Picture

#: Okabe and Ito's colours, told apart with any colour vision and in grey; yellow is left out, as it is pale on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#999999")
MARKERS = "osD^vPX*"
GREY, PALE = "#666666", "#E4E4E4"

#: Characters of a name that fit beside an axis.
NAME_WIDTH = 28


def new_picture(width: float, height: float) -> Picture:
    """Return an empty figure whose parts make room for one another; width and height in inches.

    Raises
    ------
    GausLabError
        matplotlib is not installed.
    """
    try:
        from gaus_lab.views.plots.picture import Picture
    except ImportError:
        raise GausLabError("pictures need matplotlib: pip install 'gaus-lab[notebook]'") from None
    return Picture(figsize=(width, height), layout="constrained")


def colour(k: int) -> str:
    """Return the k-th colour, from the first again after the last."""
    return COLOURS[k % len(COLOURS)]


def marker(k: int) -> str:
    """Return the k-th marker; another one where a colour comes again, so that the pair is new."""
    return MARKERS[(k + k // len(COLOURS)) % len(MARKERS)]


def tidy(axes: Axes, grid: str = "y") -> None:
    """Take away what carries no data: the frame's upper and right side; draw a pale grid behind it."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.tick_params(colors=GREY, labelcolor="black")
    axes.grid(axis=grid, color=PALE, linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)


def legend_right(picture: Picture, axes: Axes, title: str = "") -> None:
    """Put the legend beside the axes, where it covers nothing."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        names = [safe(label) for label in labels]
        picture.legend(handles, names, loc="outside right upper", frameon=False, title=title, fontsize=9)


def safe(text: str, width: int = NAME_WIDTH) -> str:
    r"""Return a name as a picture can show it: in one line, cut, and with dollars that begin no formula.

    Examples
    --------
    >>> safe("a$b")
    'a\\$b'
    """
    return short(text, width, str).replace("$", r"\$")


def whole(axes: Axes, axis: str) -> None:
    """Let an axis of counts have ticks on integers only."""
    from matplotlib.ticker import MaxNLocator

    (axes.xaxis if axis == "x" else axes.yaxis).set_major_locator(MaxNLocator(integer=True))


def nothing(picture: Picture, why: str) -> Picture:
    """Say in the picture why there is nothing to see."""
    picture.text(0.5, 0.5, why, ha="center", va="center", color=GREY)
    return picture


def panels(picture: Picture, titles: Sequence[str], columns: int = 3) -> list[Axes]:
    """Return an axes for each title, in rows of so many."""
    wide = min(columns, len(titles))
    rows = -(-len(titles) // wide)
    grid = picture.subplots(rows, wide, squeeze=False)
    flat: list[Axes] = list(grid.flat)
    for unused in flat[len(titles) :]:
        unused.remove()
    for axes, title in zip(flat, titles, strict=False):
        axes.set_title(safe(title, 40), fontsize=10, loc="left")
        tidy(axes)
    return flat[: len(titles)]


def panels_size(count: int, columns: int = 3, margin: float = 1.6) -> tuple[float, float]:
    """Return width and height for so many panels and a margin for the legend, inches."""
    wide = min(columns, max(count, 1))
    return 3.4 * wide + margin, 2.7 * -(-max(count, 1) // wide) + 0.2
