"""The data behind the pictures: frozen dataclasses of numbers and text, tested with ``==``, without a drawing."""

from gaus_lab.views.info.cost import Bar, RelativeCost, ablation, relative_cost
from gaus_lab.views.info.graphs import GraphStatistics, graph_statistics, statistics_cells, statistics_header
from gaus_lab.views.info.load import Load, ResourceLoad, load_of
from gaus_lab.views.info.memory import Scaling, scaling
from gaus_lab.views.info.quality import Curve, best_curve, curves, step_curve, time_to_quality
from gaus_lab.views.info.rows import RunRow, instance_names, solver_labels
from gaus_lab.views.info.sensitivity import Point, Sensitivity, sensitivity
from gaus_lab.views.info.spread import Spread, spread_cells, spread_header, spreads

__all__ = [
    "Bar",
    "Curve",
    "GraphStatistics",
    "Load",
    "Point",
    "RelativeCost",
    "ResourceLoad",
    "RunRow",
    "Scaling",
    "Sensitivity",
    "Spread",
    "ablation",
    "best_curve",
    "curves",
    "graph_statistics",
    "instance_names",
    "load_of",
    "relative_cost",
    "scaling",
    "sensitivity",
    "solver_labels",
    "spread_cells",
    "spread_header",
    "spreads",
    "statistics_cells",
    "statistics_header",
    "step_curve",
    "time_to_quality",
]
