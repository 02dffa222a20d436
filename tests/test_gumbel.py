"""The categorical method: level-batched draws and gradients equal those of one operation after the other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import graphs

import gaus_lab as gl
from gaus_lab.graph import Graph
from gaus_lab.graph.order import topological_order
from gaus_lab.problem import FootprintProblem, ResourceProblem
from gaus_lab.schedule import Schedule
from gaus_lab.solvers.differentiable import categorical, categorical_loss, gumbel

pytestmark = pytest.mark.fast

CPU = torch.device("cpu")
BATCH = 3


def slow_draw(
    graph: Graph, early: np.ndarray, late: np.ndarray, logits: torch.Tensor, noise: torch.Tensor, tau: float
) -> torch.Tensor:
    """Return the straight-through one-hot starts, one operation after the other, recorded by autograd.

    Shapes are (n_ops, batch, D), rows in the order of the graph.
    """
    stages = torch.arange(logits.shape[-1])
    tail, head, lag = categorical.unique_edges(graph)
    hard: dict[int, torch.Tensor] = {}
    for op in topological_order(graph.n_ops, graph.src, graph.dst, graph.distance).tolist():
        inside = (stages >= early[op]) & (stages <= late[op])
        mixed = (logits[op] + noise[op]) / tau
        edges = np.flatnonzero(head == op)
        if not len(edges):
            score = torch.softmax(mixed.masked_fill(~inside, -torch.inf), -1)
            fits = inside.expand_as(score)
        else:
            product = torch.softmax(mixed, -1) * inside
            for e in edges.tolist():
                shift = int(lag[e])
                arrived = torch.nn.functional.pad(hard[int(tail[e])].cumsum(-1), (shift, 0))[:, : len(stages)]
                product = product * torch.log(len(stages) + 1.0 - stages.double()) * arrived
            score = torch.softmax(product, -1)
            fits = product.detach() > 0
        best = score.detach().masked_fill(~fits, -1.0).argmax(-1)
        one_hot = torch.nn.functional.one_hot(best, len(stages)).double()
        hard[op] = one_hot + score - score.detach()
    return torch.stack([hard[op] for op in range(graph.n_ops)])


@settings(max_examples=60, deadline=None)
@given(graphs(min_ops=1, max_ops=6, max_latency=2), st.integers(0, 3), st.integers(0, 99))
def test_draw_and_gradient_equal_those_of_one_operation_after_the_other(
    graph: Graph, slack: int, seed: int
) -> None:
    problem = ResourceProblem(graph, horizon=max(gl.critical_path_length(graph), 1) + slack)
    early, late = categorical.draw_windows(problem)
    draws = categorical.CategoricalDraws(graph, early, late, BATCH, 2.0, CPU, torch.float64)
    generator = torch.Generator().manual_seed(seed)
    shape = (graph.n_ops, BATCH, draws.n_stages)
    logits = torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
    noise = categorical.gumbel_noise(torch.empty(shape, dtype=torch.float64), generator)
    weights = torch.randn(shape, generator=generator, dtype=torch.float64)
    expected = slow_draw(graph, early, late, logits, noise, 2.0)
    (expected * weights).sum().backward()
    order = torch.as_tensor(draws.order)
    starts = draws.draw(logits.detach()[order], noise[order].clone())
    assert torch.equal(starts, expected.detach().round().argmax(-1)[order])
    pulled = draws.pull_back(weights[order].clone())
    assert logits.grad is not None
    torch.testing.assert_close(pulled, logits.grad[order], rtol=1e-9, atol=1e-12)


def drawn(problem: gl.Problem, seed: int) -> tuple[categorical.CategoricalDraws, torch.Tensor]:
    """Return some draws of a problem, and their starts in level order."""
    early, late = categorical.draw_windows(problem)
    draws = categorical.CategoricalDraws(problem.graph, early, late, BATCH, 1.0, CPU, torch.float64)
    shape = (problem.graph.n_ops, BATCH, draws.n_stages)
    generator = torch.Generator().manual_seed(seed)
    noise = categorical.gumbel_noise(torch.empty(shape, dtype=torch.float64), generator)
    return draws, draws.draw(torch.zeros_like(noise), noise)


@settings(max_examples=60, deadline=None)
@given(graphs(min_ops=1, max_ops=7), st.integers(0, 3), st.integers(0, 99))
def test_every_draw_is_legal_and_judged_exactly(graph: Graph, slack: int, seed: int) -> None:
    problem = ResourceProblem(graph, horizon=max(gl.critical_path_length(graph), 1) + slack)
    draws, starts = drawn(problem, seed)
    loss = categorical_loss.draw_loss(problem, draws.order, draws.n_stages, CPU)
    judged = loss(starts, torch.empty((graph.n_ops, BATCH, draws.n_stages), dtype=torch.float64))
    for replica in range(BATCH):
        start = np.empty(graph.n_ops, dtype=np.int64)
        start[draws.order] = starts[:, replica].numpy()
        schedule = Schedule(graph, start)
        assert gl.verify(problem, schedule) == []
        assert int(judged.objective[replica]) == problem.objective(schedule)


def started(one_hot: torch.Tensor, steps: int) -> torch.Tensor:
    """Return the cumulative sums of one-hot starts, held from the last stage on, shape (batch, steps)."""
    sums = one_hot.cumsum(-1)
    return torch.cat([sums, sums[:, -1:].expand(-1, steps - sums.shape[1])], -1)


@settings(max_examples=40, deadline=None)
@given(graphs(min_ops=1, max_ops=6), st.integers(0, 2), st.integers(0, 99))
def test_gradient_of_the_footprint_is_that_of_expected_liveness(graph: Graph, slack: int, seed: int) -> None:
    problem = FootprintProblem(graph, horizon=max(gl.critical_path_length(graph), 1) + slack)
    draws, starts = drawn(problem, seed)
    loss = categorical_loss.FootprintLoss(problem, draws.order, draws.n_stages, CPU)
    grad = torch.empty((graph.n_ops, BATCH, draws.n_stages), dtype=torch.float64)
    judged = loss(starts, grad)
    one_hot = torch.nn.functional.one_hot(starts, draws.n_stages).double().requires_grad_()
    place = np.empty(graph.n_ops, dtype=np.int64)
    place[draws.order] = np.arange(graph.n_ops)
    steps = draws.n_stages + max(int(graph.latency.max(initial=0)) - 1, 0)
    live = torch.zeros((BATCH, steps), dtype=torch.float64)
    tail, head, _ = categorical.unique_edges(graph)
    for op in range(graph.n_ops):
        consumers = head[tail == op]
        if not len(consumers):
            continue
        shift = max(int(graph.latency[op]) - 1, 0)
        born = torch.nn.functional.pad(started(one_hot[place[op]], steps), (shift, 0))[:, :steps]
        used = torch.ones_like(born)
        for consumer in consumers.tolist():
            used = used * started(one_hot[place[consumer]], steps)
        live = live + int(graph.bits[op]) * born * (1 - used)
    even = live.detach().mean(-1, keepdim=True).clamp_min(1e-6)
    sharp = categorical_loss.SHARPNESS * even
    peak = sharp * torch.logsumexp(live / sharp, -1, keepdim=True)
    square = categorical_loss.SQUARE_SHARE * (live * live).sum(-1, keepdim=True) / (2 * even)
    bits = sum(int(graph.bits[op]) for op in set(tail.tolist()))
    expected = ((peak + square) / max(bits, 1))[:, 0]
    torch.testing.assert_close(judged.loss, expected.detach())
    if bits:
        expected.sum().backward()
        assert one_hot.grad is not None
        torch.testing.assert_close(grad, one_hot.grad, rtol=1e-7, atol=1e-9)


def test_the_published_loss_by_hand() -> None:
    graph = Graph.build([{"name": n, "latency": 0} for n in "abc"], [("a", "b"), ("a", "c")])
    problem = ResourceProblem(graph, horizon=2, resource_weights=100, communication_weight=1)
    loss = categorical_loss.draw_loss(problem, np.arange(3), 2, CPU)
    grad = torch.empty((3, 1, 2), dtype=torch.float64)
    judged = loss(torch.tensor([[0], [0], [1]]), grad)
    entropy = 100 * (2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3))
    assert float(judged.loss) == pytest.approx(0.5 + entropy)
    assert float(judged.objective) == 100 * 2 + 1
    # b leaves stage 0, where its producer is: one half of the edges would cross.
    to_first = 100 / 3 * (np.log(2 / 3) + 1) - 0.5
    assert grad[1, 0].tolist() == pytest.approx([to_first, 100 / 3 * (np.log(1 / 3) + 1)])


def test_memory_is_refused_before_it_is_taken() -> None:
    graph = Graph.build([str(i) for i in range(3000)])
    problem = ResourceProblem(graph, horizon=3000)
    with pytest.raises(
        gl.SolverError, match=r"3000 operations x batch 250 x 3000 stages need about 58\.7 GiB"
    ):
        gl.solve(problem, gl.GumbelSoftmax.published())


@pytest.mark.parametrize("start", ["own", "middle", "asap", "alap"])
@pytest.mark.parametrize("latency", [0, 1])
def test_same_seed_same_schedule(start: str, latency: int) -> None:
    problem = ResourceProblem(gl.load("hal").replace(latency=latency), horizon=7)
    solver = gl.GumbelSoftmax(batch=4, epochs=20, start=start)
    one, two = (gl.solve(problem, solver, seed=3) for _ in range(2))
    assert one.schedule is not None and two.schedule is not None
    assert (one.schedule.start == two.schedule.start).all()
    assert gl.verify(problem, one.schedule) == []
    assert one.steps == 20


def test_first_logits_favour_the_wanted_stage() -> None:
    problem = ResourceProblem(gl.load("hal"), horizon=12)
    early, late = categorical.draw_windows(problem)
    for start, stage in {
        "own": 0 * early,
        "middle": (early + late) // 2,
        "asap": early,
        "alap": late,
    }.items():
        state = gumbel.GumbelSoftmax(batch=2, start=start).init(problem)
        assert (state.logits.detach().argmax(-1).T.numpy() == stage[state.draws.order]).all()
    logits = state.logits.detach()
    assert (float(logits[: state.draws.n_roots].amax()), float(logits[-1].amax())) == (
        gumbel.ROOT_LOGIT,
        gumbel.OTHER_LOGIT,
    )


def test_it_learns() -> None:
    """From the published start, all in stage 0, the loss falls."""
    problem = ResourceProblem(
        gl.load("ewf").replace(latency=0), horizon=8, resource_weights={"ALU": 20, "MUL": 20}
    )
    solver = gl.GumbelSoftmax(batch=8)
    state = solver.init(problem, seed=1)
    losses = []
    for _ in range(150):
        solver.step(state)
        assert state.judgement is not None
        losses.append(float(state.judgement.loss.mean()))
    assert np.mean(losses[-20:]) < np.mean(losses[:20])


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch": 0},
        {"tau": 0},
        {"start": "best"},
        {"epochs": 0},
        {"memory": 0},
        {"read_out": 1},
        {"period": 1.5},
    ],
)
def test_settings_out_of_range(wrong: dict[str, object]) -> None:
    with pytest.raises(gl.SolverError, match=next(iter(wrong))):
        gl.GumbelSoftmax(**wrong)


def test_limits_are_met_by_the_repair() -> None:
    problem = ResourceProblem(gl.load("hal"), horizon=9, limits={"MUL": 2})
    result = gl.solve(problem, gl.GumbelSoftmax(batch=4, epochs=30))
    assert result.schedule is not None and result.schedule.peak_usage["MUL"] <= 2


def test_graphs_without_freedom_or_operations() -> None:
    for graph in (Graph.build([]), Graph.build("a"), Graph.build("ab", [("a", "b")])):
        result = gl.solve(ResourceProblem(graph), gl.GumbelSoftmax(batch=2, epochs=2))
        assert result.schedule is not None
