"""`Annealing`: rounds of simulated annealing from a schedule, each cooler towards its end."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gaus_lab.errors import SolverError
from gaus_lab.solvers.moves import kernels
from gaus_lab.solvers.moves.tables import fixed_of, moving_of
from gaus_lab.solvers.time_windows import TimeWindows

IntArray = NDArray[np.int64]

#: Moves between two looks at the clock.
BLOCK = 20_000
#: Cells of profiles above which a dense one does not fit; choose a coarser unit of time.
MAX_CELLS = 2**26
_TRIES = 2_000


class Annealing:
    """Simulated annealing by single moves, for formulations A, B and C.

    Parameters
    ----------
    windows : TimeWindows
    start : int array of shape (n_ops,), steps
        Legal, limits included.
    seed : int
    share : float >= 0
        Weight of the squared profiles beside their peaks: a peak alone says nothing about the moves elsewhere.

    Attributes
    ----------
    best : int array of shape (n_ops,)
        Starts of the best schedule so far.

    Raises
    ------
    SolverError
        The profiles have too many steps.

    References
    ----------
    Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated annealing", Science 220, 1983.
    """

    def __init__(self, windows: TimeWindows, start: IntArray, seed: int, share: float) -> None:
        _check_size(windows)
        self._fixed = fixed_of(windows, share)
        self._moving = moving_of(self._fixed, start, seed)
        kernels.set_up(self._fixed, self._moving)
        self._present = self._best_cost = kernels.cost(self._fixed, self._moving)
        self.movable = len(self._fixed.movable)
        self._rise = 0.0
        if self.movable:
            self._rise = kernels.mean_rise(self._fixed, self._moving, max(_TRIES, min(self.movable, 20_000)))

    @property
    def best(self) -> IntArray:
        """Starts of the best schedule so far."""
        return self._moving.best

    def round(
        self, heat: float, cold: float, progress: Callable[[], float], after: Callable[[bool], bool]
    ) -> None:
        """Anneal from the best schedule, until `after` says stop or progress is 1.

        Parameters
        ----------
        heat, cold : float > 0
            First and last temperature, as shares of the mean rise that a random move brings.
        progress : callable
            Returns the share of the round that is done, from 0 to 1.
        after : callable
            Called after each block of moves with whether a better schedule was found; returns whether to go on.
        """
        if not self.movable:
            return
        kernels.restart(self._fixed, self._moving, self.best.copy())
        self._present = kernels.cost(self._fixed, self._moving)
        block = int(min(BLOCK, max(self.movable, 500)))
        going = True
        while going and (done := progress()) < 1:
            temperature = max(self._rise, 1e-9) * heat * (cold / heat) ** done
            before = self._best_cost
            self._present, self._best_cost = kernels.anneal(
                self._fixed, self._moving, block, temperature, self._present, before
            )
            going = after(self._best_cost < before)


def _check_size(windows: TimeWindows) -> None:
    problem = windows.problem
    cells = problem.interval or windows.horizon + int(problem.graph.occupancy.max(initial=1))
    if cells * (len(problem.graph.resources) + 1) > MAX_CELLS:
        raise SolverError(
            f"{len(problem.graph.resources)} resources x {cells} steps are too many for profiles over time "
            f"(at most {MAX_CELLS} cells): use a coarser unit of time or a shorter horizon"
        )


def geometric(count: int, growth: float) -> list[float]:
    """Return shares of a whole, each `growth` times the one before.

    Examples
    --------
    >>> geometric(2, 3.0)
    [0.25, 0.75]
    """
    sizes = [growth**k for k in range(count)]
    return [size / math.fsum(sizes) for size in sizes]
