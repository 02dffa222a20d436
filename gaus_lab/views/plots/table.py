"""Tables as pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gaus_lab.views.info import statistics_cells, statistics_header
from gaus_lab.views.plots.canvas import GREY, new_picture, nothing, safe

if TYPE_CHECKING:
    from gaus_lab.views.info import GraphStatistics
    from gaus_lab.views.plots.picture import Picture

#: Height of a row, and width of a character, inches.
ROW, CHARACTER = 0.24, 0.085


def plot_graph_statistics(statistics: Iterable[GraphStatistics]) -> Picture:
    """Return a table of graphs: their size, types, critical path, width, fan-out, and the smallest II of loops.

    Parameters
    ----------
    statistics : iterable of GraphStatistics
        Of graphs, from `gaus_lab.views.info.graph_statistics`.

    Raises
    ------
    GausLabError
        matplotlib is not installed.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> from gaus_lab.views.info import graph_statistics
    >>> picture = plot_graph_statistics(graph_statistics([gl.load("hal")]))
    >>> [text.get_text() for text in picture.axes[0].texts][-12:-8]
    ['hal', '11', '8', '0']
    """
    header = [name.replace(" ", "\n") for name in statistics_header()]
    rows = [[safe(cell) for cell in row] for row in statistics_cells(statistics)]
    if not rows:
        return nothing(new_picture(4, 1), "no graph")
    parts = [
        [part for cell in column for part in cell.split("\n")] for column in zip(header, *rows, strict=True)
    ]
    widths = [CHARACTER * (max(map(len, column)) + 2) for column in parts]
    height = ROW * (len(rows) + 2.6)
    picture = new_picture(sum(widths), height)
    axes = picture.subplots()
    axes.set_axis_off()
    axes.set_xlim(0, sum(widths))
    axes.set_ylim(len(rows) + 0.2, -2.4)
    right = 0.0
    for k, width in enumerate(widths):
        right += width
        # Names stand to the left, numbers to the right, so that digits of one worth are below one another.
        at, align = (0.0, "left") if k == 0 else (right - CHARACTER, "right")
        axes.text(at, -0.6, header[k], ha=align, va="bottom", weight="bold", fontsize=9)
    axes.axhline(-0.4, color=GREY, linewidth=0.8)
    for line, row in enumerate(rows):
        right = 0.0
        for k, (cell, width) in enumerate(zip(row, widths, strict=True)):
            right += width
            at, align = (0.0, "left") if k == 0 else (right - CHARACTER, "right")
            axes.text(at, line + 0.3, cell, ha=align, va="center", fontsize=9)
    return picture
