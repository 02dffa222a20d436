"""The categorical relaxation: a start per operation drawn from D stages, legal by construction, with its gradient."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gaus_lab.analysis import alap, asap
from gaus_lab.graph import Graph
from gaus_lab.graph.core import PRODUCER_LATENCY
from gaus_lab.problem import Problem

IntArray = NDArray[np.int64]

#: Cells of a temporary tensor: levels and their edges are cut into pieces of this size, or of one row.
PIECE_CELLS = 2**20
#: Largest logarithm of the early factor; beyond it only ratios are kept, since single precision ends at e**88.
MAX_LOG_FACTOR = 60.0


def draw_windows(problem: Problem) -> tuple[IntArray, IntArray]:
    """Return ASAP and ALAP within the horizon, cut to what a serial schedule needs: later never helps.

    Examples
    --------
    >>> from gaus_lab.problem import ResourceProblem
    >>> early, late = draw_windows(ResourceProblem(Graph.build(["a", "b"], [("a", "b")]), horizon=99))
    >>> early.tolist(), late.tolist()
    ([0, 1], [0, 1])
    """
    graph = problem.graph
    assert problem.horizon is not None
    longest = np.maximum(graph.span, graph.occupancy)
    np.maximum.at(longest, graph.src, graph.lag)
    return asap(graph), alap(graph, min(problem.horizon, int(longest.sum())))


def gumbel_noise(out: Tensor, generator: torch.Generator) -> Tensor:
    """Return `out` filled with standard Gumbel noise, ``-log(E)`` with E standard exponential.

    Examples
    --------
    >>> noise = gumbel_noise(torch.empty(10_000), torch.Generator().manual_seed(0))
    >>> round(float(noise.mean()), 1)  # Euler's constant 0.577
    0.6
    """
    smallest = torch.finfo(out.dtype).tiny  # an exponential of 0 would make an infinite logit
    return out.exponential_(generator=generator).clamp_min_(smallest).log_().neg_()


def pieces(count: int, cells: int) -> Iterator[slice]:
    """Yield slices of ``range(count)`` so that rows of `cells` cells stay below `PIECE_CELLS` together.

    Examples
    --------
    >>> [(p.start, p.stop) for p in pieces(5, PIECE_CELLS // 2)]
    [(0, 2), (2, 4), (4, 5)]
    """
    rows = max(PIECE_CELLS // max(cells, 1), 1)
    for first in range(0, count, rows):
        yield slice(first, min(first + rows, count))


def latest(values: Tensor, group: Tensor, n_groups: int) -> Tensor:
    """Return the largest of the values >= 0 in each group, 0 in an empty one, shape (n_groups, batch).

    Parameters
    ----------
    values : int tensor of shape (k, batch)
    group : int tensor of shape (k,)

    Examples
    --------
    >>> latest(torch.tensor([[3], [5], [2]]), torch.tensor([0, 0, 1]), 3).flatten().tolist()
    [5, 2, 0]
    """
    largest = values.new_zeros((n_groups, values.shape[1]))
    return largest.scatter_reduce_(0, group[:, None].expand_as(values), values, "amax")


def latest_of_others(values: Tensor, group: Tensor, largest: Tensor) -> Tensor:
    """Return for each value >= 0 the largest of the others in its group, 0 if it has none, shape (k, batch).

    Where it stands in for a product of step functions without one of them: that is what the gradient of the product
    towards this one needs, and it exists where the product itself is 0.

    Parameters
    ----------
    values : int tensor of shape (k, batch)
    group : int tensor of shape (k,)
    largest : int tensor of shape (n_groups, batch)
        What `latest` returned.

    Examples
    --------
    >>> values, group = torch.tensor([[3], [5], [2]]), torch.tensor([0, 0, 1])
    >>> latest_of_others(values, group, latest(values, group, 2)).flatten().tolist()
    [5, 3, 0]
    """
    top = values == largest[group]
    count = torch.zeros_like(largest).index_add_(0, group, top.to(largest.dtype))
    second = latest(torch.where(top, 0, values), group, len(largest))
    return torch.where(top & (count[group] == 1), second[group], largest[group])


@dataclass(frozen=True)
class _Block:
    """Some operations of one level, and the dependences into them."""

    ops: slice  # places in level order
    tail: Tensor  # (k,), places of the producers in level order
    head: Tensor  # (k,), consumers, counted from the block's first
    lag: Tensor  # (k,), steps
    factor: Tensor | None  # (b, 1, D), the early factor; None for roots


class CategoricalDraws:
    """Draws a start for every operation and replica, level by level, and carries gradients back to the logits.

    A root is the argmax of ``y = softmax((logit + noise) / tau)``. Another operation has y multiplied, for each of its
    producers, by ``log(D + 1 - d)`` and by the producer's cumulative sum ``[d >= start + lag]``; its start is the
    argmax of the softmax of that product. The last stage that is left always fits, so every draw is legal. With lag 0
    this is the published method. The extension to other lags shifts the cumulative sum by the lag, and gives every
    operation its window [ASAP, ALAP] as a further factor: a producer not behind its ALAP leaves its consumers room.

    Backwards the argmax counts as its softmax (straight-through). The product of cumulative sums has its exact
    gradient. Nothing is recorded: a draw keeps y alone, and `pull_back` computes the rest again.

    Parameters
    ----------
    graph : Graph
        Its edges of distance 0 count, parallel ones once with the largest lag.
    early, late : int arrays of shape (n_ops,), steps
        The window of each start, consistent with the dependences.
    batch : int >= 1
        Replicas.
    tau : float > 0
    device, dtype : of the logits

    Attributes
    ----------
    order : int array of shape (n_ops,)
        Operation in each row of the tensors: by level, so that a level is a slice.
    n_stages : int
        D.
    n_roots : int
        Operations without producers; theirs are the first rows.

    References
    ----------
    Liu et al., "Differentiable Combinatorial Scheduling at Scale", ICML 2024, arXiv 2406.06593, the constrained Gumbel
    trick.

    Examples
    --------
    >>> graph = Graph.build([{"name": n, "latency": 0} for n in "ab"], [("a", "b")])
    >>> draws = CategoricalDraws(graph, np.array([0, 0]), np.array([2, 2]), 1, 1.0, torch.device("cpu"))
    >>> wishes = torch.tensor([[[0.0, 9.0, 0.0]], [[9.0, 0.0, 0.0]]])  # the second wants to start before the first
    >>> draws.draw(wishes, torch.zeros_like(wishes)).flatten().tolist()
    [1, 1]
    """

    def __init__(
        self,
        graph: Graph,
        early: IntArray,
        late: IntArray,
        batch: int,
        tau: float,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.n_stages = int(late.max(initial=0)) + 1
        self.batch, self._tau = batch, tau
        self._device, self._dtype = device, dtype
        depth = asap(graph.replace(latency=1, edge_latency=PRODUCER_LATENCY))
        self.order = np.argsort(depth, kind="stable")
        self.n_roots = int((depth == 0).sum())
        self._stages = torch.arange(self.n_stages, device=device)
        self._early, self._late = (self._column(times[self.order]) for times in (early, late))
        self._blocks = self._cut(graph, depth[self.order])

    def _column(self, values: IntArray) -> Tensor:
        return torch.as_tensor(values, device=self._device)[:, None]

    def _cut(self, graph: Graph, depth: IntArray) -> list[_Block]:
        """Return the levels in pieces, each with the edges into it."""
        tail, head, lag = unique_edges(graph)
        place = np.empty(graph.n_ops, dtype=np.int64)
        place[self.order] = np.arange(graph.n_ops)
        by_head = np.argsort(place[head], kind="stable")
        tail, head, lag = place[tail][by_head], place[head][by_head], lag[by_head]
        levels = np.searchsorted(depth, np.arange(int(depth.max(initial=-1)) + 2)).tolist()
        blocks = []
        for first, last in pairwise(levels):
            for piece in pieces(last - first, self.batch * self.n_stages):
                ops = slice(first + piece.start, first + piece.stop)
                inner = slice(*np.searchsorted(head, [ops.start, ops.stop]).tolist())
                local = head[inner] - ops.start
                into = [torch.as_tensor(a, device=self._device) for a in (tail[inner], local, lag[inner])]
                blocks.append(_Block(ops, into[0], into[1], into[2], self._factor(local)))
        return blocks

    def _factor(self, head: IntArray) -> Tensor | None:
        """Return the factor that draws early, ``log(D + 1 - d)`` to the number of producers; None for roots."""
        if not len(head):
            return None
        producers = torch.as_tensor(np.bincount(head), device=self._device)[:, None, None]
        logarithm = torch.log(torch.log(self.n_stages + 1.0 - self._stages.to(torch.float64))) * producers
        # Past the limit the softmax is saturated anyhow: scaled down it is the same one-hot, and not infinity.
        excess = (logarithm.amax(-1, keepdim=True) - MAX_LOG_FACTOR).clamp_min(0.0)
        return torch.exp(logarithm - excess).to(self._dtype)

    def draw(self, logits: Tensor, noise: Tensor) -> Tensor:
        """Return the drawn starts, int, shape (n_ops, batch), rows in level order.

        Parameters
        ----------
        logits : tensor of shape (n_ops, batch, D), rows in level order
        noise : tensor of the same shape
            Is replaced by y, and belongs to this object up to the next draw.
        """
        starts = torch.zeros(noise.shape[:2], dtype=torch.int64, device=self._device)
        release = torch.zeros_like(starts)
        for block in self._blocks:
            ops = block.ops
            mixed = (logits[ops] + noise[ops]) / self._tau
            release[ops] = self._early[ops]
            if block.factor is None:
                score = torch.softmax(mixed.masked_fill_(~self._open(block, release), -torch.inf), -1)
                noise[ops] = score
            else:
                torch.softmax(mixed, -1, out=noise[ops])
                arrived = latest(starts[block.tail] + block.lag[:, None], block.head, len(mixed))
                release[ops] = torch.maximum(arrived, release[ops])
                score = self._constrained(block, noise, release)
            # Ties and underflow must not choose a closed stage: legality rests on integers alone.
            starts[ops] = score.masked_fill_(~self._open(block, release), -1.0).argmax(-1)
        self._soft, self._release, self._starts = noise, release, starts
        return starts

    def _open(self, block: _Block, release: Tensor) -> Tensor:
        """Return which stages the producers and the window leave open, shape (b, batch, D)."""
        late = self._late[block.ops, :, None]
        return (self._stages >= release[block.ops][..., None]) & (self._stages <= late)

    def _constrained(self, block: _Block, soft: Tensor, release: Tensor) -> Tensor:
        """Return the softmax of y times the factors of all producers, shape (b, batch, D)."""
        assert block.factor is not None
        return torch.softmax(soft[block.ops] * block.factor * self._open(block, release), -1)

    def pull_back(self, grad: Tensor) -> Tensor:
        """Return `grad`, changed in place from a gradient by the one-hot starts to one by the logits.

        Parameters
        ----------
        grad : tensor of shape (n_ops, batch, D), rows in level order
            Of a function of the last draw.
        """
        for block in reversed(self._blocks):
            ops = block.ops
            soft, flow = self._soft[ops], grad[ops]
            if block.factor is not None:
                flow = through_softmax(self._constrained(block, self._soft, self._release), flow)
                flow *= block.factor
                self._pull_producers(block, flow * soft, grad)
                flow *= self._open(block, self._release)
            torch.div(through_softmax(soft, flow), self._tau, out=grad[ops])
        return grad

    def _pull_producers(self, block: _Block, flow: Tensor, grad: Tensor) -> None:
        """Add to `grad` what reaches the producers; `flow` is the gradient by the product of cumulative sums."""
        window = (self._stages >= self._early[block.ops, :, None]) & (
            self._stages <= self._late[block.ops, :, None]
        )
        # Moving a producer's mass to stage d changes its cumulative sum from d + lag on, and that matters only
        # where all other producers have arrived.
        onwards = torch.nn.functional.pad((flow * window).flip(-1).cumsum(-1).flip(-1), (0, 1))
        arrive = self._starts[block.tail] + block.lag[:, None]
        others = latest_of_others(arrive, block.head, latest(arrive, block.head, len(flow)))
        for part in pieces(len(block.tail), self.batch * self.n_stages):
            first = torch.maximum(self._stages + block.lag[part, None, None], others[part, :, None])
            amount = onwards[block.head[part]].gather(-1, first.clamp_max_(self.n_stages))
            grad.index_add_(0, block.tail[part], amount)


def through_softmax(soft: Tensor, flow: Tensor) -> Tensor:
    """Return the gradient by the argument of a softmax over the last axis from the gradient by its value."""
    return soft * (flow - (flow * soft).sum(-1, keepdim=True))


def unique_edges(graph: Graph) -> tuple[IntArray, IntArray, IntArray]:
    """Return producers, consumers and lags of the pairs that depend in the same iteration; parallel edges once.

    Examples
    --------
    >>> edges = [("a", "b"), {"src": "a", "dst": "b", "latency": 4}, {"src": "b", "dst": "a", "distance": 1}]
    >>> [array.tolist() for array in unique_edges(Graph.build(["a", "b"], edges))]
    [[0], [1], [4]]
    """
    keep = np.flatnonzero(graph.distance == 0)
    pair = graph.src[keep] * max(graph.n_ops, 1) + graph.dst[keep]
    _, first, group = np.unique(pair, return_index=True, return_inverse=True)
    lag = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(lag, group, graph.lag[keep])
    return graph.src[keep][first], graph.dst[keep][first], lag
