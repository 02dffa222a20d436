"""`Refinement`: rounds of annealing within what a run may still spend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gaus_lab.run import Run
from gaus_lab.solvers.moves.annealing import Annealing, geometric
from gaus_lab.solvers.time_windows import TimeWindows


@dataclass(frozen=True)
class Refinement:
    """Rounds of annealing from the best schedule of a run.

    Parameters
    ----------
    rounds, growth, heat, cold, share
        As of `local_search.LocalSearch`.
    """

    rounds: int = 3
    growth: float = 3.0
    heat: float = 1.0
    cold: float = 0.02
    share: float = 0.01

    def search(self, windows: TimeWindows, run: Run, blocks: int) -> None:
        """Spend all the time or the steps that the run has left, else so many blocks; offer what is better.

        Parameters
        ----------
        windows : TimeWindows
        run : Run
            Has a best schedule.
        blocks : int
            Steps to take where the run has no limit of its own.
        """
        assert run.best_start is not None
        annealing = Annealing(windows, run.best_start, run.seed, self.share)
        if not annealing.movable:
            return
        spent = _clock(run, blocks)

        def after(better: bool) -> bool:
            run.step()
            if better:
                run.offer(annealing.best)
            return not run.stopped

        done = 0.0
        for share in geometric(self.rounds, self.growth):
            begin, done = done, done + share
            annealing.round(self.heat, self.cold, lambda b=begin, s=share: (spent() - b) / s, after)  # type: ignore[misc]
            if run.stopped:
                return


def _clock(run: Run, blocks: int) -> Callable[[], float]:
    """Return the function that says which share of the search is over."""
    began, first = run.elapsed, run.steps
    if run.max_seconds is not None:
        seconds = max(0.98 * run.max_seconds - began, 1e-3)
        return lambda: (run.elapsed - began) / seconds
    steps = blocks if run.max_steps is None else max(run.max_steps - first, 1)
    return lambda: (run.steps - first) / steps
