"""Operator scheduling with Gaussians over time, its baselines, and pictures of why a schedule looks as it does.

>>> import gaus_lab as gl
>>> problem = gl.ResourceProblem(gl.load("hal"), weights="balanced")
>>> result = gl.solve(problem, gl.GauS(), seed=0, stop=gl.MaxSteps(200))
>>> gl.verify(problem, result.schedule)
[]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gaus_lab.analysis import alap, asap, critical_path, critical_path_length, mii, mobility, rec_mii, res_mii
from gaus_lab.compare import compare
from gaus_lab.constraints import Violation
from gaus_lab.datasets import list_names, load
from gaus_lab.errors import (
    DatasetError,
    GausLabError,
    GausLabWarning,
    GraphError,
    ProblemError,
    SolverError,
)
from gaus_lab.explain import Explanation, Reason, explain
from gaus_lab.files import read, write
from gaus_lab.graph import Graph
from gaus_lab.min_ii import MinII, min_ii
from gaus_lab.problem import FootprintProblem, LatencyProblem, ModuloProblem, ResourceProblem
from gaus_lab.recurrence import critical_recurrence
from gaus_lab.result import Result, Status
from gaus_lab.run import MaxSeconds, MaxSteps, NoImprovement
from gaus_lab.schedule import Schedule
from gaus_lab.solve import solve
from gaus_lab.verify import verify

if TYPE_CHECKING:
    from gaus_lab.solvers.cp_sat import CpSat
    from gaus_lab.solvers.differentiable.gaus import GauS
    from gaus_lab.solvers.differentiable.gumbel import GumbelSoftmax
    from gaus_lab.solvers.extremes import Alap, Asap
    from gaus_lab.solvers.force_directed import ForceDirected
    from gaus_lab.solvers.iterative_modulo import IterativeModulo
    from gaus_lab.solvers.list_scheduling import ListScheduling
    from gaus_lab.solvers.local_search import LocalSearch
    from gaus_lab.solvers.milp import Milp

__version__ = "0.1.0"

#: Public names whose modules load on first use: solvers may bring torch or numba with them.
_LATE = {
    "Alap": "gaus_lab.solvers.extremes",
    "Asap": "gaus_lab.solvers.extremes",
    "CpSat": "gaus_lab.solvers.cp_sat",
    "ForceDirected": "gaus_lab.solvers.force_directed",
    "GauS": "gaus_lab.solvers.differentiable.gaus",
    "GumbelSoftmax": "gaus_lab.solvers.differentiable.gumbel",
    "IterativeModulo": "gaus_lab.solvers.iterative_modulo",
    "ListScheduling": "gaus_lab.solvers.list_scheduling",
    "LocalSearch": "gaus_lab.solvers.local_search",
    "Milp": "gaus_lab.solvers.milp",
}

__all__ = [
    "Alap",
    "Asap",
    "CpSat",
    "DatasetError",
    "Explanation",
    "FootprintProblem",
    "ForceDirected",
    "GauS",
    "GausLabError",
    "GausLabWarning",
    "Graph",
    "GraphError",
    "GumbelSoftmax",
    "IterativeModulo",
    "LatencyProblem",
    "ListScheduling",
    "LocalSearch",
    "MaxSeconds",
    "MaxSteps",
    "Milp",
    "MinII",
    "ModuloProblem",
    "NoImprovement",
    "ProblemError",
    "Reason",
    "ResourceProblem",
    "Result",
    "Schedule",
    "SolverError",
    "Status",
    "Violation",
    "alap",
    "asap",
    "compare",
    "critical_path",
    "critical_path_length",
    "critical_recurrence",
    "explain",
    "list_names",
    "load",
    "mii",
    "min_ii",
    "mobility",
    "read",
    "rec_mii",
    "res_mii",
    "solve",
    "verify",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'gaus_lab' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATE])
