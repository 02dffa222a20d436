"""GauS: gradient descent on a Gaussian start time for each operation, under an augmented Lagrangian."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from gaus_lab.analysis import alap, asap
from gaus_lab.checks import integer, number, short
from gaus_lab.errors import SolverError
from gaus_lab.problem import Problem
from gaus_lab.run import Run
from gaus_lab.solvers.differentiable.lagrangian import Multipliers
from gaus_lab.solvers.differentiable.legal_candidates import Candidates
from gaus_lab.solvers.differentiable.objective import expected_objective
from gaus_lab.solvers.differentiable.state import INITIAL_SPREAD, State
from gaus_lab.solvers.differentiable.terms import EdgeTensors, precedence_excess
from gaus_lab.solvers.moves import Refinement
from gaus_lab.solvers.time_windows import TimeWindows

IntArray = NDArray[np.int64]

#: Cells of usage (resources x steps) above which a time grid does not fit; choose a coarser unit of time.
MAX_CELLS = 2**26
#: With ``device="auto"`` a GPU is used from this many operations on; below, launching kernels costs more.
MIN_OPS_FOR_GPU = 5_000
#: First temperature of the refinement by formulation, as a share of the mean rise: peaks are flatter than prices.
REFINE_HEAT = {"A": 0.3, "B": 1.0, "C": 1.0}
#: Blocks of moves of the refinement in a run without limits.
REFINE_BLOCKS = 300
#: Rounds without a time limit, if none are asked for.
DEFAULT_ROUNDS = 4
#: Smallest smooth-peak temperature at the begin and the end of a round, as a share of the even usage.
_SHARPNESS = (0.1, 0.02)
#: Learning rate of the spread, which is a logit and not a number of steps.
_SPREAD_RATE = 0.02
#: Largest penalty, in units of the objective's change per step.
_RHO_LIMIT = 1e3


@dataclass(frozen=True)
class GauS:
    """GauS for formulations A and B: 2n parameters, Adam, one multiplier an edge, legalisation, rounds.

    Minimises the expected objective over means mu and deviations sigma of Gaussian start times. A cap on sigma, the
    learning rate and the temperature of the smooth peak fall geometrically within a round; every few steps mu is
    rounded and legalised, and the best schedule kept. Each round is `growth` times longer than the one before,
    begins at the best schedule so far and keeps the multipliers.

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
    device: str = "auto"
    threads: int = 1
    refine: float = 0.5

    formulations: ClassVar[frozenset[str]] = frozenset("AB")

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
        if self.device not in ("auto", "cpu", "cuda"):
            raise SolverError(f"device must be 'auto', 'cpu' or 'cuda', got {short(self.device)}")

    @property
    def name(self) -> str:
        """``gaus``, or ``gaus-plain`` where no local search follows."""
        return "gaus" if self.refine else "gaus-plain"

    # ---- stepping -----------------------------------------------------------------------------------------

    def init(self, problem: Problem, seed: int = 0) -> State:
        """Return the state before the first step: mu in the middle of [ASAP, ALAP], plus jitter."""
        graph = problem.graph
        early, late = _windows(problem)
        device = self._device(graph.n_ops)

        def tensor(values: IntArray | float) -> torch.Tensor:
            return torch.as_tensor(values, dtype=torch.float32, device=device)

        edges = EdgeTensors.of_graph(graph, device)
        mu = torch.zeros(graph.n_ops, device=device, requires_grad=True)
        spread = torch.full_like(mu, INITIAL_SPREAD, requires_grad=True)
        state = State(
            early=early,
            late=late,
            earliest=tensor(early),
            latest=tensor(late),
            edges=edges,
            objective=expected_objective(problem, early, late, device),
            candidates=Candidates(problem, early, late),
            rng=np.random.default_rng(seed),
            mu=mu,
            spread=spread,
            sigma_cap=torch.ones_like(mu, requires_grad=False),
            multipliers=Multipliers(torch.zeros(len(edges.src), device=device), tensor(0.0)),
            optimizer=self._optimizer(mu, spread),
        )
        self._begin_round(state, (early + late) / 2, self.first_round)
        return state

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
        violation = precedence_excess(state.mu, state.sigma, state.edges)
        sharpness = _between(*_SHARPNESS, share)
        loss = state.objective(state.mu, state.sigma, sharpness) + state.multipliers.term(violation)
        state.optimizer.zero_grad()
        loss.backward()
        state.optimizer.step()
        with torch.no_grad():
            state.mu.copy_(torch.maximum(torch.minimum(state.mu, state.latest), state.earliest))
        state.step += 1
        if state.step % self.update_every == 0:
            state.multipliers.update(violation)

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
        with _torch_threads(self.threads), run.part(1 - self.refine):
            self._run(problem, run)
        if self.refine and run.best_start is not None and not run.stopped:
            Refinement(heat=REFINE_HEAT[problem.formulation]).search(
                TimeWindows.of(problem), run, REFINE_BLOCKS
            )

    def _run(self, problem: Problem, run: Run) -> None:
        early, late = _windows(problem)
        run.offer(early)  # before anything that takes time: there is a schedule from now on
        run.offer(late)
        state = self.init(problem, run.seed)
        run.device = state.mu.device.type
        for extreme in (early, late):
            self._offer(run, state.candidates(extreme))
        if (early == late).all():
            return
        # Whoever sets a limit wants it used; without one a few rounds must do.
        rounds = DEFAULT_ROUNDS if self.rounds is None and not run.stop else self.rounds
        while self._round(state, run) and (rounds is None or state.round < rounds - 1):
            start = early if run.best_start is None else run.best_start
            self.begin_next_round(state, start, self._length_in_time(state, run))

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
        state.optimizer = self._optimizer(state.mu, state.spread)
        price = float(state.objective.price)
        state.multipliers = Multipliers(
            state.multipliers.value,
            torch.full_like(state.multipliers.rho, price * min(self.rho * 2.0**state.round, _RHO_LIMIT)),
            growth=self.rho_growth,
            required=1.0,
            limit=_RHO_LIMIT * price,
        )

    def _anneal(self, state: State, share: float) -> None:
        """Set learning rate, cap on sigma and windows for a place on the schedule."""
        widest = _between(state.widest, min(self.sigma_min, state.widest), share)
        state.objective.prepare(widest)
        mobility = state.latest - state.earliest
        state.sigma_cap = torch.clamp(self.kappa * mobility, min(self.sigma_min, widest), widest)
        state.optimizer.param_groups[0]["lr"] = _between(state.first_rate, self.final_learning_rate, share)

    def _first_rate(self, horizon: int) -> float:
        """Return the learning rate at the begin of a round: long ways need long steps."""
        return (
            2.0 * math.sqrt(max(horizon / 250, 1.0))
            if self.learning_rate is None
            else float(self.learning_rate)
        )

    @staticmethod
    def _optimizer(mu: torch.Tensor, spread: torch.Tensor) -> torch.optim.Optimizer:
        groups: list[dict[str, Any]] = [{"params": [mu]}, {"params": [spread], "lr": _SPREAD_RATE}]
        return torch.optim.Adam(groups, lr=1.0, betas=(0.9, 0.99))

    def _device(self, n_ops: int) -> torch.device:
        available = torch.cuda.is_available()
        if self.device == "cuda" and not available:
            raise SolverError("device 'cuda' is not available on this machine; use 'auto' or 'cpu'")
        if self.device == "auto":
            return torch.device("cuda" if available and n_ops >= MIN_OPS_FOR_GPU else "cpu")
        return torch.device(self.device)


@contextmanager
def _torch_threads(count: int) -> Iterator[None]:
    """Set the number of torch's CPU threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _windows(problem: Problem) -> tuple[IntArray, IntArray]:
    """Return ASAP and ALAP within the horizon, cut to what a serial schedule needs: later never helps."""
    graph = problem.graph
    assert problem.horizon is not None
    longest = np.maximum(graph.span, graph.occupancy)
    np.maximum.at(longest, graph.src, graph.lag)
    horizon = min(problem.horizon, int(longest.sum()))
    early, late = asap(graph), alap(graph, horizon)
    cells = len(graph.resources) * (int((late + graph.occupancy).max(initial=0)) + 1)
    if cells > MAX_CELLS:
        raise SolverError(
            f"{len(graph.resources)} resources x {horizon} steps are too many for a relaxation over time "
            f"(at most {MAX_CELLS} cells): use a coarser unit of time or a shorter horizon"
        )
    return early, late


def _between(first: float, last: float, share: float) -> float:
    """Return the geometric interpolation from first to last."""
    return float(first * (last / first) ** share)
