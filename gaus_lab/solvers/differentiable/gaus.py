"""GauS: gradient descent on a Gaussian start time for each operation, under an augmented Lagrangian."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from gaus_lab.checks import integer, number, short
from gaus_lab.errors import SolverError
from gaus_lab.problem import Problem
from gaus_lab.run import Run
from gaus_lab.solvers.differentiable.adam import Adam
from gaus_lab.solvers.differentiable.devices import device_for, torch_threads
from gaus_lab.solvers.differentiable.families import family_named
from gaus_lab.solvers.differentiable.lagrangian import Multipliers
from gaus_lab.solvers.differentiable.legal_candidates import ModuloCandidates, candidates_of
from gaus_lab.solvers.differentiable.objective import ExpectedResourceObjective, expected_objective
from gaus_lab.solvers.differentiable.start_windows import (
    MAX_CELLS,
    first_means,
    list_schedule,
    start_windows,
)
from gaus_lab.solvers.differentiable.state import INITIAL_SPREAD, State
from gaus_lab.solvers.differentiable.terms import EdgeTensors, precedence_by_pairs, precedence_excess
from gaus_lab.solvers.differentiable.usage import ExpectedOveruse, ExpectedUsage
from gaus_lab.solvers.moves import Refinement
from gaus_lab.solvers.time_windows import TimeWindows

IntArray = NDArray[np.int64]

#: First temperature of the refinement by formulation, as a share of the mean rise: peaks are flatter than prices.
REFINE_HEAT = {"A": 0.3, "B": 1.0, "C": 1.0}
#: Blocks of moves of the refinement in a run without limits.
REFINE_BLOCKS = 300
#: Rounds without a time limit, if none are asked for.
DEFAULT_ROUNDS = 4
#: With ``device="auto"`` a GPU is used from this many operations on.
MIN_OPS_FOR_GPU = 5_000
#: Smallest smooth-peak temperature at the begin and the end of a round, as a share of the even usage.
_SHARPNESS = (0.1, 0.02)
#: Learning rate of the spread, which is a logit and not a number of steps.
_SPREAD_RATE = 0.02
_CHOICES = {
    "device": ("auto", "cpu", "cuda"),
    "start": ("middle", "asap", "alap", "list"),
    "violation": ("excess", "pairs"),
}
#: Largest penalty, in units of the objective's change per step.
_RHO_LIMIT = 1e3


@dataclass(frozen=True)
class GauS:
    """GauS for all formulations: 2n parameters, Adam, one multiplier an edge, legalisation, rounds.

    Minimises the expected objective over means mu and deviations sigma of Gaussian start times. A cap on sigma, the
    learning rate and the temperature of the smooth peak fall geometrically within a round; every few steps mu is
    rounded and legalised, and the best schedule kept. Each round is `growth` times longer than the one before,
    begins at the best schedule so far and keeps the multipliers. Limits have a multiplier in each step or slot, too; a
    repair that respects them follows the legalisation. Of a loop (C) all edges count, and usage and liveness are folded
    modulo the II. For the makespan (R) means are the order of list scheduling, and every round looks for a schedule
    shorter than the best so far; there no local search follows.

    Heuristic: proves nothing. The same seed gives the same schedule on a CPU, unless a time limit ends the run; on
    a GPU sums may be added in another order. Fails only where limits leave no room for the repair. Time a step is
    linear in edges plus the summed windows (six deviations, or mobility + 1, if that is less); memory likewise.

    Parameters
    ----------
    first_round : int >= 1, gradient steps of the first round
    rounds : int >= 1, or None
        Number of rounds; None makes `DEFAULT_ROUNDS`, or as many as the stop criteria allow.
    growth : float >= 1
    learning_rate, final_learning_rate : float > 0, steps per gradient step
        At the begin and the end of a round. None makes 2 up to a horizon of 250, and grows with its square root.
    sigma_max, sigma_min : float > 0, steps
        Cap on sigma at the begin and the end of a round.
    kappa : float > 0
        Cap on an operation's sigma as a share of its mobility (never below `sigma_min`).
    jitter : float >= 0
        Random displacement at the begin of a round as a share of the mobility. Operations with equal neighbours
        have equal gradients, and would move as one block for ever.
    rho, rho_growth : float
        First penalty, in units of the objective's change per step, and its growth where violations do not fall.
        Each round begins with twice the rho of the one before.
    legalize_every, press_every, update_every : int >= 1, steps
        Between two legalisations, two that press peaks down too, and two updates of the multipliers.
    start : ``"middle"``, ``"asap"``, ``"alap"`` or ``"list"``
        Means of the first round: the middle of [ASAP, ALAP], an end of it, or a list schedule.
    family : ``"gaussian"``, ``"logistic"``, ``"laplace"`` or ``"cauchy"``
        Distribution of the starts; see `families`.
    violation : ``"excess"`` or ``"pairs"``
        Expected violation of a dependence: `terms.precedence_excess`, or the paper's sum over pairs of steps,
        `terms.precedence_by_pairs`, at the cost of (n + m) x horizon.
    device : ``"auto"``, ``"cpu"`` or ``"cuda"``
    refine : float >= 0 and < 1
        Share of the time (or steps) that goes to a local search from the best schedule (`moves.Refinement`). With 0 the
        solver is GauS as the paper has it; then its name in results is ``gaus-plain``.
    threads : int >= 1
        CPU threads of torch during the run. One is nearly as fast as two, and threads that wait for one another stall
        where the machine has other work.

    Raises
    ------
    SolverError
        A setting out of range, a GPU that is not there, a horizon too long for a grid of steps.

    References
    ----------
    Cai, Bakhtazad, Yu, Zhang, "GauS", arXiv 2602.20427. The constraint differs from the paper's: see
    `terms.precedence_excess`.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> problem = gl.ResourceProblem(gl.load("hal"), horizon=6)
    >>> gl.solve(problem, GauS(rounds=1)).objective
    5
    """

    first_round: int = 200
    rounds: int | None = None
    growth: float = 2.0
    learning_rate: float | None = None
    final_learning_rate: float = 0.01
    sigma_max: float = 6.0
    sigma_min: float = 0.15
    kappa: float = 0.5
    jitter: float = 0.02
    rho: float = 0.2
    rho_growth: float = 1.05
    legalize_every: int = 10
    press_every: int = 50
    update_every: int = 10
    start: str = "middle"
    family: str = "gaussian"
    violation: str = "excess"
    device: str = "auto"
    threads: int = 1
    refine: float = 0.5

    formulations: ClassVar[frozenset[str]] = frozenset("ABCR")

    def __post_init__(self) -> None:
        for key in ("first_round", "legalize_every", "press_every", "update_every", "threads"):
            integer(getattr(self, key), key, 1, SolverError)
        if self.rounds is not None:
            integer(self.rounds, "rounds", 1, SolverError)
        for key in ("growth", "rho_growth"):
            number(getattr(self, key), key, 1, SolverError)
        for key in ("learning_rate", "final_learning_rate", "sigma_max", "sigma_min", "kappa", "rho"):
            if key == "learning_rate" and self.learning_rate is None:
                continue
            if number(getattr(self, key), key, 0, SolverError) == 0:
                raise SolverError(f"{key} must be > 0, got 0")
        number(self.jitter, "jitter", 0, SolverError)
        if not 0 <= number(self.refine, "refine", 0, SolverError) < 1:
            raise SolverError(f"refine must be a share of the run, >= 0 and < 1, got {short(self.refine)}")
        for key, choices in _CHOICES.items():
            if getattr(self, key) not in choices:
                listed = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
                raise SolverError(f"{key} must be {listed}, got {short(getattr(self, key))}")
        family_named(self.family)

    @property
    def name(self) -> str:
        """``gaus``, or ``gaus-plain`` where no local search follows."""
        return "gaus" if self.refine else "gaus-plain"

    # ---- stepping -----------------------------------------------------------------------------------------

    def init(self, problem: Problem, seed: int = 0, makespan: int | None = None) -> State:
        """Return the state before the first step: mu in the middle of [ASAP, ALAP] (see `start`), plus jitter.

        Parameters
        ----------
        problem : Problem
        seed : int
        makespan : int, steps, optional
            Only schedules up to this makespan are of interest; by default, for a problem without a horizon, that of a
            list schedule.
        """
        graph, family = problem.graph, family_named(self.family)
        if makespan is None and problem.horizon is None:
            makespan = int((list_schedule(problem) + graph.span).max(initial=0))
        early, late = start_windows(problem, makespan)
        device = device_for(self.device, graph.n_ops, MIN_OPS_FOR_GPU)

        def tensor(values: IntArray | float) -> torch.Tensor:
            return torch.as_tensor(values, dtype=torch.float32, device=device)

        steps = int(late.max(initial=0)) + 1
        edges = EdgeTensors.of_graph(graph, device, ii=problem.interval, reach=steps)
        self._check_cells(graph.n_ops + len(edges.src), steps)
        mu = torch.zeros(graph.n_ops, device=device, requires_grad=True)
        spread = torch.full_like(mu, INITIAL_SPREAD, requires_grad=True)
        objective = expected_objective(problem, early, late, device, family=family)
        overuse = None
        if problem.limits:
            if isinstance(objective, ExpectedResourceObjective):
                usage = objective.usage
            else:
                usage = ExpectedUsage(problem, early, late, device, family=family)
            overuse = ExpectedOveruse(problem, usage, device)
        state = State(
            early=early,
            late=late,
            earliest=tensor(early),
            latest=tensor(late),
            edges=edges,
            objective=objective,
            candidates=candidates_of(problem, early, late),
            rng=np.random.default_rng(seed),
            mu=mu,
            spread=spread,
            sigma_cap=torch.ones_like(mu, requires_grad=False),
            multipliers=Multipliers(torch.zeros(len(edges.src), device=device), tensor(0.0)),
            optimizer=_adam(mu, spread),
            overuse=overuse,
            prices=Multipliers(tensor(0.0), tensor(0.0)),
        )
        means = first_means(problem, self.start, early, late, state.candidates)
        self._begin_round(state, means, self.first_round)
        return state

    def _check_cells(self, rows: int, steps: int) -> None:
        if self.violation == "pairs" and rows * steps > MAX_CELLS:
            raise SolverError(
                f"violation 'pairs' needs {rows} x {steps} cells, at most {MAX_CELLS}: "
                "use violation='excess', or a shorter horizon"
            )

    def begin_next_round(self, state: State, best: IntArray, length: int | None = None) -> None:
        """Re-initialise at a legalised schedule: mu there plus jitter, sigma wide again, multipliers kept."""
        state.round += 1
        planned = round(self.first_round * self.growth**state.round)
        self._begin_round(state, best.astype(np.float64), planned if length is None else length)

    def step(self, state: State, progress: float | None = None) -> None:
        """Take one gradient step, in place. The host never waits for the device.

        Parameters
        ----------
        state : State
        progress : float from 0 to 1, optional
            Place on the annealing schedule; by default the share of the round's steps that are done.
        """
        share = state.step / max(state.length - 1, 1) if progress is None else progress
        share = min(share, 1.0)
        self._anneal(state, share)
        violation, sigma = self._violation(state), state.sigma
        sharpness = _between(*_SHARPNESS, share)
        loss = state.objective(state.mu, sigma, sharpness) + state.multipliers.term(violation)
        overuse = None
        if state.overuse is not None:
            overuse = state.overuse(state.mu, sigma)
            loss = loss + state.prices.term(overuse)
        loss.backward()
        state.optimizer.step((_between(state.first_rate, self.final_learning_rate, share), _SPREAD_RATE))
        with torch.no_grad():
            state.mu.copy_(torch.maximum(torch.minimum(state.mu, state.latest), state.earliest))
        state.step += 1
        if state.step % self.update_every == 0:
            state.multipliers.update(violation)
            if overuse is not None:
                state.prices.update(overuse)

    def _violation(self, state: State) -> torch.Tensor:
        """Return the expected violation of each edge."""
        family = family_named(self.family)
        if self.violation == "pairs":
            steps = int(state.late.max(initial=0)) + 1
            return precedence_by_pairs(state.mu, state.sigma, state.edges, steps, family)
        return precedence_excess(state.mu, state.sigma, state.edges, family)

    def finish(self, state: State, press: float | None = 0.0) -> Iterator[IntArray]:
        """Yield schedules made from mu: legal in time, and under the limits where the repair succeeds.

        Unless `press` is None, the same schedules with lower and lower peaks are among them (`Candidates`), at
        several times the cost.
        """
        mu = state.mu.detach().cpu().numpy()
        return state.candidates(np.where(np.isfinite(mu), mu, state.early), press)

    # ---- the whole run ------------------------------------------------------------------------------------

    def run(self, problem: Problem, run: Run) -> None:
        """Offer ASAP and ALAP, then round after round the legalised means, until a stop criterion is reached."""
        share = 1.0 if problem.formulation == "R" else 1 - self.refine  # moves know no makespan
        with torch_threads(self.threads), run.part(share):
            self._run(problem, run)
        if share < 1 and run.best_start is not None and not run.stopped:
            Refinement(heat=REFINE_HEAT[problem.formulation]).search(
                TimeWindows.of(problem), run, REFINE_BLOCKS
            )

    def _run(self, problem: Problem, run: Run) -> None:
        makespan = None
        if problem.formulation == "R":
            run.offer(list_schedule(problem))
            if run.proven:
                return
            makespan = self._shorter(run)
        early, late = start_windows(problem, makespan)
        run.offer(early)  # before anything that takes time: there is a schedule from now on
        run.offer(late)
        state = self.init(problem, run.seed, makespan)
        run.device = state.mu.device.type
        if isinstance(state.candidates, ModuloCandidates):
            state.candidates.stopped = lambda: run.stopped
            self._offer(run, state.candidates.first())
        for extreme in (early, late):
            self._offer(run, state.candidates(extreme))
        if (early == late).all() and problem.formulation != "R":
            return
        # Whoever sets a limit wants it used; without one a few rounds must do.
        rounds = DEFAULT_ROUNDS if self.rounds is None and not run.stop else self.rounds
        while self._round(state, run) and (rounds is None or state.round < rounds - 1):
            start = early if run.best_start is None else run.best_start
            if problem.formulation == "R" and self._shorter(run) != makespan:
                makespan, done = self._shorter(run), state.round
                state = self.init(problem, run.seed + done + 1, makespan)
                state.round = done
            self.begin_next_round(state, start, self._length_in_time(state, run))

    @staticmethod
    def _shorter(run: Run) -> int | None:
        """Return the makespan that would improve on the best one."""
        return None if run.best_objective is None else max(run.best_objective - 1, run.bound or 0)

    @staticmethod
    def _offer(run: Run, schedules: Iterator[IntArray]) -> None:
        for start in schedules:
            run.offer(start)
            if run.stopped:
                return

    def _round(self, state: State, run: Run) -> bool:
        """Take the steps of a round; return whether the run may go on."""
        began = run.elapsed
        while state.step < state.length and not run.stopped:
            share = state.step / max(state.length - 1, 1)
            if run.max_seconds is not None:
                # On a big graph the clock, not the count, says where the round ends.
                share = max(share, (run.elapsed - began) / max(0.97 * run.max_seconds - began, 1e-3))
            self.step(state, share)
            run.step()
            if state.step % self.legalize_every == 0 or state.step == state.length:
                self._offer(run, self.finish(state, self._press(state)))
        return not run.stopped

    def _press(self, state: State) -> float | None:
        """Return how thoroughly peaks are pressed after this step: now and then, and to the unit at a round's end."""
        if state.step == state.length:
            return 0.0
        return 1 / 64 if state.step % self.press_every == 0 else None

    def _length_in_time(self, state: State, run: Run) -> int | None:
        """Return the length of the next round where it is the last that fits: all the time left; else None."""
        if run.max_seconds is None or not run.steps:
            return None
        affordable = int((run.max_seconds - run.elapsed) * run.steps / run.elapsed)
        planned = self.first_round * self.growth ** (state.round + 1)
        return max(affordable, 1) if affordable < planned * (1 + self.growth) else None

    def _begin_round(self, state: State, start: NDArray[np.float64], length: int) -> None:
        mobility = state.late - state.early
        state.step, state.length = 0, length
        state.first_rate = self._first_rate(int(state.late.max(initial=0)) + 1)
        state.widest = min(self.sigma_max, max(1.0, 0.25 * float(mobility.max(initial=0))))
        state.place(start + self.jitter * mobility * state.rng.standard_normal(len(mobility)))
        state.optimizer = _adam(state.mu, state.spread)
        price = float(state.objective.price)
        state.multipliers = Multipliers(
            state.multipliers.value,
            torch.full_like(state.multipliers.rho, price * min(self.rho * 2.0**state.round, _RHO_LIMIT)),
            growth=self.rho_growth,
            required=1.0,
            limit=_RHO_LIMIT * price,
        )
        # Prices of slots begin anew: where the best schedule has its room is another matter in each round.
        rho = state.multipliers.rho
        state.prices = Multipliers(
            torch.zeros_like(rho), rho.clone(), self.rho_growth, 1.0, _RHO_LIMIT * price
        )

    def _anneal(self, state: State, share: float) -> None:
        """Set cap on sigma and windows for a place on the schedule."""
        widest = _between(state.widest, min(self.sigma_min, state.widest), share)
        state.objective.prepare(widest)
        if state.overuse is not None:
            state.overuse.prepare(widest)
        mobility = state.latest - state.earliest
        state.sigma_cap = torch.clamp(self.kappa * mobility, min(self.sigma_min, widest), widest)

    def _first_rate(self, horizon: int) -> float:
        """Return the learning rate at the begin of a round: long ways need long steps."""
        return (
            2.0 * math.sqrt(max(horizon / 250, 1.0))
            if self.learning_rate is None
            else float(self.learning_rate)
        )


def _adam(mu: torch.Tensor, spread: torch.Tensor) -> Adam:
    return Adam((mu, spread), beta1=0.9, beta2=0.99)


def _between(first: float, last: float, share: float) -> float:
    """Return the geometric interpolation from first to last."""
    return float(first * (last / first) ** share)
