"""Pictures of the data of `gaus_lab.views.info`, as figures of matplotlib that no window or global state knows.

Those that compare runs take the rows of `compare`, the others what a builder in `gaus_lab.views.info` made. Each
returns a `Picture`: a `matplotlib.figure.Figure` that JupyterLab shows, and that ``savefig`` writes. matplotlib is
loaded by the first picture.
"""

from gaus_lab.views.plots.comparison import plot_ablation, plot_relative_cost, plot_sensitivity
from gaus_lab.views.plots.load import plot_load
from gaus_lab.views.plots.scaling import plot_scaling
from gaus_lab.views.plots.table import plot_graph_statistics
from gaus_lab.views.plots.time import plot_quality_over_time

__all__ = [
    "plot_ablation",
    "plot_graph_statistics",
    "plot_load",
    "plot_quality_over_time",
    "plot_relative_cost",
    "plot_scaling",
    "plot_sensitivity",
]
