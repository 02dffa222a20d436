"""Iterative modulo scheduling: legal, repeatable, never where there is no schedule, and rarely without one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from small_graphs import every_start, first_start, graphs

import gaus_lab as gl
from gaus_lab.datasets import add_recurrences, random_dag
from gaus_lab.run import Run
from gaus_lab.solvers.modulo_table import (
    NOWHERE,
    Edges,
    Needs,
    blocked_at,
    empty_table,
    loop_of,
    mirrored,
    place_all,
    put,
    take,
)

pytestmark = pytest.mark.fast

QUICK = gl.IterativeModulo(attempts=6)


def solved(problem: gl.ModuloProblem, solver: gl.IterativeModulo = QUICK, **settings: object) -> gl.Result:
    result = gl.solve(problem, solver, **settings)
    assert result.schedule is None or gl.verify(problem, result.schedule) == []
    return result


# ---- against all schedules ----------------------------------------------------------------------------------


@given(graphs(max_ops=6, max_distance=2), st.integers(1, 3), st.integers(1, 4), st.integers(0, 4))
@settings(max_examples=120, deadline=None, derandomize=True)
def test_a_schedule_exactly_where_there_is_one(graph: gl.Graph, units: int, ii: int, extra: int) -> None:
    graph = graph.replace(weight=1)  # as the search through all starts counts
    limits = dict.fromkeys(graph.resources, units)
    least = gl.ModuloProblem(graph, limits=limits, ii=ii).horizon - ii
    assume(least + extra <= 9)
    problem = gl.ModuloProblem(graph, horizon=least + extra, limits=limits, ii=ii)
    result = solved(problem)
    exists = first_start(graph, problem.horizon, limits, ii) is not None
    # A heuristic may fail where there is a schedule; on these graphs it does not.
    assert (result.schedule is not None) == exists
    assert not (exists and result.status is gl.Status.INFEASIBLE)


@given(graphs(max_ops=4, max_distance=2), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=120, deadline=None, derandomize=True)
def test_weights_and_long_occupancies(graph: gl.Graph, units: int, ii: int) -> None:
    graph = graph.replace(weight=np.minimum(graph.weight, units))
    problem = gl.ModuloProblem(graph, limits=dict.fromkeys(graph.resources, units), ii=ii)
    assume(problem.horizon <= 8)
    legal = (s for s in every_start(graph, problem.horizon, ii) if problem.is_legal(problem.schedule(s)))
    exists = next(legal, None) is not None
    assert (solved(problem).schedule is not None) == exists


@given(graphs(max_ops=6, max_distance=2), st.integers(1, 4), st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_without_limits_there_is_always_one(graph: gl.Graph, more: int, held: bool) -> None:
    problem = gl.ModuloProblem(graph, limits={}, ii=gl.mii(graph) + more - 1, hold_outputs=held)
    result = solved(problem)
    assert result.schedule is not None
    early = problem.schedule(gl.asap(graph, problem.ii))
    assert result.objective <= problem.objective(early)


# ---- single cases -------------------------------------------------------------------------------------------


def test_rau_evicts_until_the_recurrence_fits() -> None:
    """Height alone gives the unit to `x` and `y` first; the recurrence a -> b -> a leaves `b` one slot only."""
    ops = [
        {"name": "a", "type": "ALU"},
        {"name": "b", "type": "MUL"},
        *({"name": n, "type": "MUL"} for n in "xy"),
    ]
    edges = [("a", "b"), {"src": "b", "dst": "a", "distance": 1, "latency": 2}, ("x", "y")]
    graph = gl.Graph.build(ops, [*edges, {"src": "y", "dst": "b", "latency": 9}])
    problem = gl.ModuloProblem(graph, limits={"MUL": 1, "ALU": 1}, ii=3)
    assert solved(problem, gl.IterativeModulo(attempts=1)).schedule is not None


def test_parallel_edges_the_tightest_counts() -> None:
    edges = [
        ("a", "b"),
        {"src": "a", "dst": "b", "latency": 5},
        {"src": "a", "dst": "b", "distance": 1, "latency": 9},
    ]
    problem = gl.ModuloProblem(gl.Graph.build(["a", "b"], edges), limits={"op": 1}, ii=3)
    start = solved(problem).schedule.start
    assert start[1] - start[0] >= 6


def test_an_operation_meets_itself() -> None:
    graph = gl.Graph.build([{"name": "a", "occupancy": 5}, "b"])
    assert solved(gl.ModuloProblem(graph, limits={"op": 3}, ii=2)).schedule is not None
    assert solved(gl.ModuloProblem(graph, limits={"op": 2}, ii=2)).status is gl.Status.INFEASIBLE


def test_what_is_always_busy_leaves_too_little() -> None:
    """Unit-steps: 2 * 1 + 1 * 2 = 4 of 4, yet `b` needs 2 units in one slot, where `a` leaves 1."""
    graph = gl.Graph.build([{"name": "a", "occupancy": 2}, {"name": "b", "weight": 2}])
    problem = gl.ModuloProblem(graph, limits={"op": 2}, ii=2)
    assert problem.infeasibility() is None
    result = solved(problem)
    assert result.status is gl.Status.INFEASIBLE
    assert result.reason == (
        "op 1 (b) uses 2 units of op, and the operations that are busy for II 2 or longer leave 1 of 2"
    )


def test_the_first_schedule_comes_whatever_the_time_limit() -> None:
    graph = add_recurrences(random_dag(60, 120, seed=4), count=3, seed=4)
    problem = gl.ModuloProblem(graph, limits={"op": 5})
    assert solved(problem, stop=gl.MaxSeconds(0)).steps == 1


def test_attempts_and_seeds() -> None:
    graph = add_recurrences(random_dag(60, 120, seed=4), count=3, seed=4)
    problem = gl.ModuloProblem(graph, limits={"op": 5})
    one, many = (
        solved(problem, gl.IterativeModulo(attempts=1)),
        solved(problem, gl.IterativeModulo(attempts=12)),
    )
    assert (one.steps, many.steps) == (1, 12)
    assert many.objective <= one.objective
    again = solved(problem, gl.IterativeModulo(attempts=12))
    assert again.schedule.start.tolist() == many.schedule.start.tolist()


@pytest.mark.parametrize(("ii", "units", "early", "best"), [(1, 8, 604, 154), (2, 4, 302, 152)])
def test_values_are_made_when_they_are_needed(ii: int, units: int, early: int, best: int) -> None:
    """Three wide values wait for the end of a chain unless their producers start late."""
    chain = [("s0", "s1"), ("s1", "s2"), ("s2", "s3"), ("s3", "z")]
    ops = ["s0", "s1", "s2", "s3", "z", *({"name": n, "bits": 50} for n in "pqr")]
    graph = gl.Graph.build(ops, [*chain, ("p", "z"), ("q", "z"), ("r", "z")])
    problem = gl.ModuloProblem(graph, limits={"op": units}, ii=ii)
    assert problem.objective(problem.schedule(gl.asap(graph))) == early
    assert solved(problem, gl.IterativeModulo(attempts=12)).objective == best


def test_settings_are_checked() -> None:
    with pytest.raises(gl.SolverError, match="budget_ratio must be"):
        gl.IterativeModulo(budget_ratio=0.5)
    with pytest.raises(gl.SolverError, match="attempts must be >= 1, got 0"):
        gl.IterativeModulo(attempts=0)


def test_a_table_that_is_too_large_is_refused() -> None:
    graph = gl.Graph.build(["a", "b"])
    legal = gl.ModuloProblem(graph, horizon=3, limits={"op": 2}, ii=2**41)
    assert solved(legal).schedule is not None  # both fit in one slot: no table
    with pytest.raises(gl.SolverError, match="choose a coarser unit of time"):
        gl.solve(gl.ModuloProblem(graph, horizon=3, limits={"op": 1}, ii=2**41), QUICK)


def test_huge_numbers_do_not_wrap() -> None:
    far = {"src": "b", "dst": "a", "distance": 2**40}
    graph = gl.Graph.build([{"name": "a", "bits": 2**42}, {"name": "b", "bits": 2**42}], [("a", "b"), far])
    result = solved(gl.ModuloProblem(graph, limits={"op": 1}, ii=2**20))
    assert result.objective >= 2**42 * 2**40


def test_an_interrupted_attempt_goes_on_where_it_was() -> None:
    """A search in portions of one placement makes the same schedule as one in a single portion."""
    graph = add_recurrences(random_dag(30, 60, seed=2), count=3, seed=2)
    loop, units = loop_at(graph, 8, 4)
    whole, parts = (empty_table(loop, units, np.arange(30)) for _ in range(2))
    assert place_all(loop, whole, 10_000)
    assert any(place_all(loop, parts, 1) for _ in range(10_000))
    assert parts.start.tolist() == whole.start.tolist()


# ---- the reservation table ------------------------------------------------------------------------------------


def loop_at(graph: gl.Graph, ii: int, units: int) -> tuple[object, np.ndarray]:
    problem = gl.ModuloProblem(graph, limits={"op": units}, ii=ii)
    n = graph.n_ops
    needs = Needs(np.zeros(n, np.int64), graph.occupancy % ii, graph.weight, np.array([units]))
    edges = Edges(graph.src, graph.dst, graph.lag - graph.distance * ii)
    early, late = gl.asap(graph, ii), gl.alap(graph, problem.horizon, ii)
    return loop_of(edges, early, late, needs, ii), needs.units


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(-9, 20)), max_size=40), st.integers(1, 9))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_table_counts_what_is_in_it(moves: list[tuple[int, int]], ii: int) -> None:
    ops = [{"name": f"v{i}", "occupancy": i % 4, "weight": 1 + i % 3} for i in range(8)]
    graph = gl.Graph.build(ops)
    loop, units = loop_at(graph, ii, 100)
    table = empty_table(loop, units, np.arange(8))
    half = table.free.shape[1] // 2
    where: dict[int, int] = {}
    for op, step in moves:
        if op in where:
            take(loop, table, op)
            del where[op]
        else:
            put(loop, table, op, step)
            where[op] = step
        usage = np.zeros(ii, np.int64)
        for other, begin in where.items():
            for j in range(int(graph.occupancy[other]) % ii):
                usage[(begin + j) % ii] += graph.weight[other]
        assert (100 - table.free[0, half : half + ii]).tolist() == usage.tolist()
        assert table.free[0, 1] == 100 - usage.min()
        assert np.isinf(table.queue[len(table.queue) // 2 :][list(where)]).all()
        assert blocked_at(loop, table, 0, 0) == -1


def test_mirrored_time_keeps_dependences_and_slots() -> None:
    length = np.array([2, 1, 3])
    edges = Edges(np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([2, 1, -9]))
    early, late = np.array([0, 2, 3]), np.array([4, 6, 7])
    turned, first, last = mirrored(edges, early, late, length)
    for start in ([0, 2, 3], [1, 4, 9], [0, 1, 5], [0, 2, 12]):
        x = -length - np.array(start)
        there = x[turned.src] + turned.lag <= x[turned.dst]
        here = np.array(start)[edges.src] + edges.lag <= np.array(start)[edges.dst]
        assert there.tolist() == here.tolist()
    assert (first <= last).all()
    assert (-length - last).tolist() == early.tolist()


def test_nowhere_is_no_step() -> None:
    assert NOWHERE < -(2**62)


def test_a_run_without_driver_needs_no_more_than_a_judge() -> None:
    problem = gl.ModuloProblem(gl.load("iir2"))
    run = Run(lambda start: problem.objective(problem.schedule(start)))
    gl.IterativeModulo(attempts=2).run(problem, run)
    assert run.best_start is not None
    assert problem.is_legal(problem.schedule(run.best_start))
