"""`Run`: all that a solver may use besides its problem: seed, clock, stop criteria, best schedule so far, bound."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gaus_lab.checks import integer, short
from gaus_lab.errors import SolverError
from gaus_lab.problem import Problem

IntArray = NDArray[np.int64]


@runtime_checkable
class Solver(Protocol):
    """What `solve` needs of a solver: a frozen value of settings that can be run on a problem.

    Attributes
    ----------
    name : str
        As on the command line.
    formulations : frozenset of str
        Letters of the formulations that it supports.
    """

    formulations: ClassVar[frozenset[str]]

    @property
    def name(self) -> str:
        """The name."""

    def run(self, problem: Problem, run: Run) -> None:
        """Search, and hand every schedule worth keeping to ``run.offer``."""


class StopCriterion(Protocol):
    """Says when a run should end."""

    def reached(self, run: Run) -> bool:
        """Return whether the run should end now."""


@dataclass(frozen=True)
class MaxSeconds:
    """Stop after so many seconds of wall-clock time since the run began; 0 stops after the first schedule."""

    seconds: float

    def __post_init__(self) -> None:
        if (
            not isinstance(self.seconds, (int, float))
            or isinstance(self.seconds, bool)
            or not self.seconds >= 0
        ):
            raise SolverError(f"seconds must be a number >= 0, got {short(self.seconds)}")

    def reached(self, run: Run) -> bool:
        """Return whether the time is over."""
        return run.elapsed >= self.seconds


@dataclass(frozen=True)
class MaxSteps:
    """Stop after so many steps of an iterative solver (gradient steps, moves, improvement rounds)."""

    steps: int

    def __post_init__(self) -> None:
        integer(self.steps, "steps", 0, SolverError)

    def reached(self, run: Run) -> bool:
        """Return whether the steps are used up."""
        return run.steps >= self.steps


@dataclass(frozen=True)
class NoImprovement:
    """Stop when the best objective has not improved for so many steps."""

    steps: int

    def __post_init__(self) -> None:
        integer(self.steps, "steps", 1, SolverError)

    def reached(self, run: Run) -> bool:
        """Return whether the last improvement is too long ago."""
        return run.steps - run.improved_at >= self.steps


@dataclass
class Run:
    """One attempt of a solver at a problem: what it may spend, and what it has found.

    Parameters
    ----------
    judge : callable
        Takes int starts of shape (n_ops,), returns the exact objective, or None if the schedule is illegal. The
        driver passes one that verifies; a solver cannot hand in an unverified schedule.
    seed : int
    stop : iterable of `StopCriterion`
    watch : callable, optional
        Called with the run after every step; for progress bars and recordings.
    """

    judge: Callable[[IntArray], int | None]
    seed: int = 0
    stop: tuple[StopCriterion, ...] = ()
    watch: Callable[[Run], None] | None = None

    steps: int = field(default=0, init=False)
    improved_at: int = field(default=0, init=False)
    bound: int | None = field(default=None, init=False)
    infeasible: str | None = field(default=None, init=False)
    device: str = field(default="cpu", init=False)
    history: list[tuple[float, int]] = field(default_factory=list, init=False)
    _best: tuple[IntArray, int] | None = field(default=None, init=False)
    _began: float = field(default_factory=time.perf_counter, init=False)
    _ended: float | None = field(default=None, init=False)

    @property
    def elapsed(self) -> float:
        """Seconds since the run began; they stand still once it is finished."""
        return (time.perf_counter() if self._ended is None else self._ended) - self._began

    def finish(self) -> None:
        """Stop the clock; later calls change nothing."""
        self._ended = time.perf_counter() if self._ended is None else self._ended

    @property
    def best_start(self) -> IntArray | None:
        """Starts of the best schedule so far, shape (n_ops,); None before the first."""
        return self._best[0] if self._best else None

    @property
    def best_objective(self) -> int | None:
        """Objective of the best schedule so far; None before the first."""
        return self._best[1] if self._best else None

    def rng(self) -> np.random.Generator:
        """Return a generator that depends on the seed alone."""
        return np.random.default_rng(self.seed)

    @property
    def max_seconds(self) -> float | None:
        """Smallest time limit among the stop criteria, None without one; for schedules over time."""
        return min((c.seconds for c in self.stop if isinstance(c, MaxSeconds)), default=None)

    @property
    def max_steps(self) -> int | None:
        """Smallest step limit among the stop criteria, None without one."""
        return min((c.steps for c in self.stop if isinstance(c, MaxSteps)), default=None)

    @contextmanager
    def part(self, share: float) -> Iterator[None]:
        """Allow only a share of the time and of the steps that are left, for the first of two searches.

        Afterwards the second search has the rest, and `NoImprovement` counts anew.
        """
        stop, before = self.stop, self.steps
        limits: list[StopCriterion] = []
        if self.max_seconds is not None:
            limits.append(MaxSeconds(self.elapsed + share * max(self.max_seconds - self.elapsed, 0)))
        if self.max_steps is not None:
            limits.append(MaxSteps(before + round(share * max(self.max_steps - before, 0))))
        self.stop = (*stop, *limits)
        try:
            yield
        finally:
            self.stop = stop
            self.improved_at = self.steps

    def step(self, count: int = 1) -> None:
        """Count finished steps."""
        self.steps += count
        if self.watch is not None:
            self.watch(self)

    @property
    def proven(self) -> bool:
        """Whether the best schedule is proven optimal, or the problem infeasible."""
        met = self.bound is not None and self.best_objective is not None and self.bound >= self.best_objective
        return met or self.infeasible is not None

    @property
    def stopped(self) -> bool:
        """Whether the solver should end: a stop criterion is reached, or nothing is left to prove."""
        return self.proven or any(criterion.reached(self) for criterion in self.stop)

    def offer(self, start: Any) -> bool:
        """Keep the schedule if it is legal and better than the best so far; return whether it was kept."""
        start = np.asarray(start, dtype=np.int64)
        objective = self.judge(start)
        if objective is None or (self.best_objective is not None and objective >= self.best_objective):
            return False
        self._best = (start.copy(), objective)  # one store: an interrupt cannot separate the two
        self.improved_at = self.steps
        self.history.append((self.elapsed, objective))
        return True

    def prove_bound(self, value: int) -> None:
        """Record a proven lower bound on the objective."""
        self.bound = value if self.bound is None else max(self.bound, value)

    def prove_infeasible(self, reason: str) -> None:
        """Record that no legal schedule exists, and why."""
        self.infeasible = reason


def as_criteria(stop: StopCriterion | Iterable[StopCriterion] | None) -> tuple[StopCriterion, ...]:
    """Return stop criteria as a tuple; `SolverError` on anything else."""
    criteria = () if stop is None else tuple(stop) if isinstance(stop, Iterable) else (stop,)
    for criterion in criteria:
        if not callable(getattr(criterion, "reached", None)):
            raise SolverError(f"stop must be MaxSeconds, MaxSteps or NoImprovement, got {short(criterion)}")
    return criteria
