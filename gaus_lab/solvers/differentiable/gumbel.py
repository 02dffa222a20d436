"""GumbelSoftmax: the categorical method that GauS is compared with, one Gumbel-softmax over D stages an operation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import torch

# torch loads this at the first step of an optimiser, where its seconds would count as time of the search.
import torch._dynamo
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.checks import integer, number, short
from gaus_lab.errors import SolverError
from gaus_lab.problem import Problem
from gaus_lab.run import Run
from gaus_lab.solvers.differentiable.categorical import CategoricalDraws, draw_windows, gumbel_noise
from gaus_lab.solvers.differentiable.categorical_loss import DrawLoss, Judgement, draw_loss
from gaus_lab.solvers.differentiable.devices import device_for, torch_threads
from gaus_lab.solvers.differentiable.legal_candidates import Candidates, candidates_of

IntArray = NDArray[np.int64]

#: Epochs of the published method, and of a run without limits.
PUBLISHED_EPOCHS = 500
#: First logits of the favoured stage, as published: of roots, and of the others. All other stages have 0.
ROOT_LOGIT, OTHER_LOGIT = 10.0, 1.0
#: Tensors of n x batch x D alive at once: logits, gradient, noise or y, two moments, and two that AdamW makes.
LIVE_TENSORS = 7
#: With ``device="auto"`` a GPU is used from this many logits on; below, launching kernels costs more.
MIN_LOGITS_FOR_GPU = 2**22

_STARTS = ("own", "middle", "asap", "alap")
_READ_OUTS = ("loss", "best")


@dataclass
class DrawState:
    """What the steps of `GumbelSoftmax` change; rows of tensors are the operations of `draws.order`.

    Attributes
    ----------
    logits, grad, noise : tensors of shape (n_ops, batch, D)
    starts : int tensor of shape (n_ops, batch) or None, steps
        The last draw.
    judgement : Judgement or None
        Of the last draw.
    epoch : int
    """

    draws: CategoricalDraws
    loss: DrawLoss
    candidates: Candidates
    generator: torch.Generator
    optimizer: torch.optim.Optimizer
    logits: Tensor
    grad: Tensor
    noise: Tensor
    starts: Tensor | None = None
    judgement: Judgement | None = None
    epoch: int = 0

    def replica(self, index: int) -> IntArray:
        """Return the last draw of a replica in the order of the graph, shape (n_ops,), steps."""
        assert self.starts is not None
        start = np.empty(len(self.starts), dtype=np.int64)
        start[self.draws.order] = self.starts[:, index].cpu().numpy()
        return start


@dataclass(frozen=True)
class GumbelSoftmax:
    """The categorical relaxation with the constrained Gumbel trick (GS-Schedule): n*batch*D logits, AdamW.

    Formulations A and B. Each epoch draws legal starts in every replica, level by level (`CategoricalDraws`), and
    takes one gradient step through the straight-through softmax. Replicas have logits of their own and share nothing.
    The loss is another function than the objective: for A, crossing edges and the entropy of usage (`ResourceLoss`),
    as published; for B, which the publication does not treat, the smooth footprint (`FootprintLoss`).

    Read-out: after each epoch the drawn starts of the replica with the lowest loss are judged exactly, and the run
    keeps the best of all epochs; ``read_out="best"`` has the replica with the lowest objective judged too. ASAP and
    ALAP are offered first, so the result is never worse than they are. Limits are no part of the loss: the drawn
    schedules are repaired to meet them.

    Latency 0, where ``start[u] <= start[v]``, is the published method. Other latencies, edge latencies included, are
    our extension: cumulative sums are shifted by the lag, and windows [ASAP, ALAP] mask the stages.

    Heuristic: proves nothing. Deterministic for a seed on a CPU, unless a time limit ends the run; on a GPU sums may
    be added in another order. Time an epoch is linear in (operations + edges) * batch * D, and a time limit may be
    overrun by one epoch; memory is linear in operations * batch * D, estimated before anything is allocated. Fails
    only where limits leave no room for the repair.

    Parameters
    ----------
    batch : int >= 1
        Replicas. 250 as published.
    epochs : int >= 1, or None
        None makes 500, or as many as the stop criteria allow.
    learning_rate : float > 0
    period : int >= 1, epochs
        The learning rate falls to 0 along half a cosine in this time, and rises again in as much.
    tau : float > 0
        Temperature of the softmax, constant.
    start : ``"own"``, ``"middle"``, ``"asap"`` or ``"alap"``
        Stage that the first logits favour: the first of all as published, the middle or an end of [ASAP, ALAP].
    read_out : ``"best"`` or ``"loss"``
    memory : float > 0, GiB
        Largest estimate that is accepted.
    device : ``"auto"``, ``"cpu"`` or ``"cuda"``
    threads : int >= 1
        CPU threads of torch during the run.

    Raises
    ------
    SolverError
        A setting out of range, a GPU that is not there, an estimated need of more than `memory`.

    References
    ----------
    Liu et al., "Differentiable Combinatorial Scheduling at Scale", ICML 2024, arXiv 2406.06593.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> problem = gl.ResourceProblem(gl.load("hal"), horizon=6)
    >>> result = gl.solve(problem, GumbelSoftmax(batch=4, epochs=30))
    >>> gl.verify(problem, result.schedule)
    []
    """

    batch: int = 16
    epochs: int | None = None
    learning_rate: float = 1.0
    period: int = 50
    tau: float = 50.0
    start: str = "own"
    read_out: str = "best"
    memory: float = 4.0
    device: str = "auto"
    threads: int = 1

    name: ClassVar[str] = "gumbel"
    formulations: ClassVar[frozenset[str]] = frozenset("AB")

    def __post_init__(self) -> None:
        for key in ("batch", "period", "threads"):
            integer(getattr(self, key), key, 1, SolverError)
        if self.epochs is not None:
            integer(self.epochs, "epochs", 1, SolverError)
        for key in ("learning_rate", "tau", "memory"):
            if number(getattr(self, key), key, 0, SolverError) == 0:
                raise SolverError(f"{key} must be > 0, got 0")
        for key, known in (
            ("start", _STARTS),
            ("read_out", _READ_OUTS),
            ("device", ("auto", "cpu", "cuda")),
        ):
            if getattr(self, key) not in known:
                names = ", ".join(map(repr, known[:-1])) + f" or {known[-1]!r}"
                raise SolverError(f"{key} must be {names}, got {short(getattr(self, key))}")

    @classmethod
    def published(cls) -> Self:
        """Return the settings of the published code; only the limit on memory is ours.

        Examples
        --------
        >>> settings = GumbelSoftmax.published()
        >>> settings.batch, settings.epochs, settings.tau, settings.read_out
        (250, 500, 50.0, 'loss')
        """
        return cls(
            batch=250,
            epochs=PUBLISHED_EPOCHS,
            learning_rate=1.0,
            period=50,
            tau=50.0,
            start="own",
            read_out="loss",
        )

    # ---- stepping -----------------------------------------------------------------------------------------

    def init(self, problem: Problem, seed: int = 0) -> DrawState:
        """Return the state before the first epoch.

        Raises
        ------
        SolverError
            As the class; before anything of size n*batch*D is made.
        """
        early, late = draw_windows(problem)
        size = problem.graph.n_ops * self.batch * (int(late.max(initial=0)) + 1)
        self._check_memory(problem, size)
        device = device_for(self.device, size, MIN_LOGITS_FOR_GPU)
        draws = CategoricalDraws(problem.graph, early, late, self.batch, self.tau, device)
        logits = self._first_logits(draws, early, late, device)
        return DrawState(
            draws=draws,
            loss=draw_loss(problem, draws.order, draws.n_stages, device),
            candidates=candidates_of(problem, early, late),
            generator=torch.Generator(device).manual_seed(seed),
            optimizer=torch.optim.AdamW([logits], lr=self.learning_rate, foreach=False),
            logits=logits,
            grad=torch.zeros_like(logits, requires_grad=False),
            noise=torch.zeros_like(logits, requires_grad=False),
        )

    def step(self, state: DrawState) -> None:
        """Take one epoch, in place: draw, judge, and one step of AdamW down the summed loss of the replicas."""
        with torch.no_grad():
            gumbel_noise(state.noise, state.generator)
            state.starts = state.draws.draw(state.logits, state.noise)
            state.judgement = state.loss(state.starts, state.grad)
            state.logits.grad = state.draws.pull_back(state.grad)
        share = (1 + math.cos(math.pi * state.epoch / self.period)) / 2
        state.optimizer.param_groups[0]["lr"] = self.learning_rate * share
        state.optimizer.step()
        state.epoch += 1

    def finish(self, state: DrawState) -> Iterator[IntArray]:
        """Yield the schedules that the last epoch is read out as; legal in time, repaired where there are limits."""
        if state.judgement is None:
            return
        chosen = {int(state.judgement.loss.argmin()): None}
        if self.read_out == "best":
            chosen[int(state.judgement.objective.argmin())] = None
        for replica in chosen:
            yield from state.candidates(state.replica(replica), None)

    # ---- the whole run ------------------------------------------------------------------------------------

    def run(self, problem: Problem, run: Run) -> None:
        """Offer ASAP and ALAP, then the read-out of every epoch, until the epochs or the stop criteria end."""
        early, late = draw_windows(problem)
        run.offer(early)  # before anything that takes time: there is a schedule from now on
        run.offer(late)
        with torch_threads(self.threads):
            state = self.init(problem, run.seed)
            run.device = state.logits.device.type
            for extreme in (early, late):
                self._offer(run, state.candidates(extreme, None))
            if (early == late).all():
                return
            # Whoever sets a limit wants it used; without one the published number must do.
            epochs = PUBLISHED_EPOCHS if self.epochs is None and not run.stop else self.epochs
            while not run.stopped and (epochs is None or state.epoch < epochs):
                self.step(state)
                run.step()
                self._offer(run, self.finish(state))

    @staticmethod
    def _offer(run: Run, schedules: Iterator[IntArray]) -> None:
        for start in schedules:
            run.offer(start)

    def _check_memory(self, problem: Problem, size: int) -> None:
        """Refuse a problem whose logits and their companions would not fit, with the figure and the remedy."""
        need = memory_estimate(size)
        if need > self.memory * 2**30:
            stages = size // max(problem.graph.n_ops * self.batch, 1)
            raise SolverError(
                f"{problem.graph.n_ops} operations x batch {self.batch} x {stages} stages need about "
                f"{need / 2**30:.3g} GiB, allowed are {self.memory:g} GiB: choose a smaller batch, a shorter horizon "
                "or a coarser unit of time, or raise memory"
            )

    def _first_logits(
        self, draws: CategoricalDraws, early: IntArray, late: IntArray, device: torch.device
    ) -> Tensor:
        """Return logits that favour one stage of each operation, the same in every replica."""
        stage = {"own": 0 * early, "middle": (early + late) // 2, "asap": early, "alap": late}[self.start]
        logits = torch.zeros((len(early), self.batch, draws.n_stages), device=device)
        value = torch.full((len(early),), OTHER_LOGIT, device=device)
        value[: draws.n_roots] = ROOT_LOGIT
        place = torch.as_tensor(stage[draws.order], device=device)[:, None, None].expand(-1, self.batch, 1)
        logits.scatter_(-1, place, value[:, None, None].expand_as(place))
        return logits.requires_grad_()


def memory_estimate(size: int) -> int:
    """Return the bytes that so many logits in single precision need with all that is kept beside them.

    Examples
    --------
    >>> memory_estimate(1000 * 250 * 50) / 2**30  # the published batch on 1000 operations and 50 stages
    0.3259629011154175
    """
    return size * torch.finfo(torch.float32).bits // 8 * LIVE_TENSORS
