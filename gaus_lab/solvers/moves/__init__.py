"""Single moves of operations with exact incremental costs: the engine behind local search and refinement."""

from gaus_lab.solvers.moves.annealing import Annealing
from gaus_lab.solvers.moves.refinement import Refinement

__all__ = ["Annealing", "Refinement"]
