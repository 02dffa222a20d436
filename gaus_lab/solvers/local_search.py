"""Local search: simulated annealing by single moves from ASAP, ALAP or a list schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaus_lab.checks import integer, number
from gaus_lab.errors import SolverError
from gaus_lab.problem import Problem
from gaus_lab.run import Run
from gaus_lab.solvers.first_schedules import offer_first_schedules
from gaus_lab.solvers.moves import Refinement
from gaus_lab.solvers.time_windows import TimeWindows


@dataclass(frozen=True)
class LocalSearch:
    """Moves one operation at a time inside the window that its neighbours leave, by simulated annealing.

    Formulations A, B and C, with limits. The change of the objective by a move is exact; a small share of the change
    of the squared profile guides moves that leave the peak alone. Several rounds, each from the best schedule so far
    and longer than the one before.

    Heuristic: proves nothing. Deterministic for a seed, unless a time limit ends the run. A move costs the degree of
    the operation plus the steps of profile that change; memory is linear in operations, edges and steps. Each block
    of moves counts as a step of the run. Fails where none of its first schedules is legal.

    Parameters
    ----------
    rounds : int >= 1
    growth : float >= 1
        Length of a round, compared with the one before.
    blocks : int >= 1
        Blocks of moves where the run has neither a time limit nor a limit of steps.
    heat, cold : float > 0
        First and last temperature of a round, as shares of the mean rise that a random move brings.
    share : float >= 0
        Weight of the squared profiles beside their peaks.

    Raises
    ------
    SolverError
        A setting out of range; a horizon too long for profiles.

    References
    ----------
    Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated annealing", Science 220, 1983.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> gl.solve(gl.FootprintProblem(gl.load("ewf"), horizon=20), LocalSearch(blocks=50)).objective
    6
    """

    rounds: int = 3
    growth: float = 3.0
    blocks: int = 400
    heat: float = 1.0
    cold: float = 0.02
    share: float = 0.01

    name: ClassVar[str] = "local"
    formulations: ClassVar[frozenset[str]] = frozenset("ABC")

    def __post_init__(self) -> None:
        for key in ("rounds", "blocks"):
            integer(getattr(self, key), key, 1, SolverError)
        number(self.growth, "growth", 1, SolverError)
        number(self.share, "share", 0, SolverError)
        for key in ("heat", "cold"):
            if number(getattr(self, key), key, 0, SolverError) == 0:
                raise SolverError(f"{key} must be > 0, got 0")

    def run(self, problem: Problem, run: Run) -> None:
        """Offer the first schedules, then every best one of the search."""
        offer_first_schedules(problem, run)
        if run.best_start is None or run.stopped:
            return
        refinement = Refinement(self.rounds, self.growth, self.heat, self.cold, self.share)
        refinement.search(TimeWindows.of(problem), run, self.blocks)
