"""The four problems: what is minimised, and under which constraints. They know no solver.

==== ====================== ================================================== ===================================
 A   `ResourceProblem`      weighted peak usage + weighted communication       precedence, horizon
 B   `FootprintProblem`     footprint                                          precedence, horizon
 C   `ModuloProblem`        modulo footprint                                   modulo capacity, precedence, horizon
 R   `LatencyProblem`       makespan                                           precedence, capacity
==== ====================== ================================================== ===================================

A and B carry capacities too where `limits` are given.
"""

from gaus_lab.problem.base import Problem
from gaus_lab.problem.latency import LatencyProblem
from gaus_lab.problem.memory import FootprintProblem, ModuloProblem
from gaus_lab.problem.resource import ResourceProblem

__all__ = ["PROBLEMS", "FootprintProblem", "LatencyProblem", "ModuloProblem", "Problem", "ResourceProblem"]

#: The problem class of each formulation letter.
PROBLEMS: dict[str, type[Problem]] = {
    "A": ResourceProblem,
    "B": FootprintProblem,
    "C": ModuloProblem,
    "R": LatencyProblem,
}
