"""Legal schedules with one operation moved past a bound: the violation of that bound is named, and no other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from small_graphs import graphs

import gaus_lab as gl
from gaus_lab.constraints import Violation
from gaus_lab.graph import Graph
from gaus_lab.problem import FootprintProblem, LatencyProblem, ModuloProblem, Problem, ResourceProblem
from gaus_lab.verify import verify

pytestmark = pytest.mark.fast


def moved(problem: Problem, start: Mapping[str, int], **to: int) -> Violation:
    """Return the only violation after a move; the schedule before it must be legal."""
    assert verify(problem, start) == []
    (violation,) = verify(problem, start | to)
    return violation


def chain(**settings) -> Graph:
    ops = [
        {"name": "a", "latency": 2},
        {"name": "b", "latency": 3},
        {"name": "c"},
        {"name": "free", "type": "io"},
    ]
    return Graph.build(ops, [("a", "b"), ("b", "c")], **settings)


START = {"a": 0, "b": 2, "c": 5, "free": 0}


@pytest.mark.parametrize("kind", [ResourceProblem, FootprintProblem, LatencyProblem])
@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ({"a": 1}, "precedence a -> b violated: result at 3, start at 2 (distance 0)"),
        ({"c": 4}, "precedence b -> c violated: result at 5, start at 4 (distance 0)"),
        ({"c": 6}, "horizon of c violated: ends at 7, horizon 6"),
        ({"free": 6}, "horizon of free violated: ends at 7, horizon 6"),
        ({"free": -1}, "start of free violated: starts at -1, the first step is 0"),
        ({"a": -1}, "start of a violated: starts at -1, the first step is 0"),
    ],
)
def test_time(kind: type[Problem], to, expected: str) -> None:
    assert str(moved(kind(chain(), horizon=6), START, **to)) == expected


@pytest.mark.parametrize("kind", [ResourceProblem, FootprintProblem, LatencyProblem])
def test_capacity(kind: type[Problem]) -> None:
    problem = kind(Graph.build("abc"), horizon=3, limits={"op": 1})
    violation = moved(problem, {"a": 0, "b": 1, "c": 2}, c=1)
    assert str(violation) == "capacity of op violated in step 1: usage 2, limit 1 (b, c)"
    assert verify(problem.replace(limits={}), {"a": 0, "b": 1, "c": 1}) == []


def test_carried_precedence_on_both_sides() -> None:
    graph = Graph.build(
        [{"name": "P", "latency": 3}, {"name": "K"}], [{"src": "P", "dst": "K", "distance": 2}, ("K", "P")]
    )
    problem = ModuloProblem(graph, ii=5, horizon=20)
    start = {"K": 4, "P": 11}
    assert moved(problem, start, P=12).amount == 1
    assert str(moved(problem, start, K=3)) == (
        "precedence P -> K violated: result at 14, start at 13 (distance 2, II 5)"
    )
    assert (
        str(moved(problem, start, P=4))
        == "precedence K -> P violated: result at 5, start at 4 (distance 0, II 5)"
    )


def test_modulo_horizon_and_start() -> None:
    problem = ModuloProblem(chain(), ii=3, horizon=6)
    assert moved(problem, START, free=6).constraint == "horizon"
    assert moved(problem, START, free=-1).constraint == "start"


def test_modulo_capacity() -> None:
    graph = Graph.build([{"name": name, "type": "M"} for name in "abcde"], limits={"M": 2})
    problem = ModuloProblem(graph, horizon=20)
    assert problem.ii == 3
    start = {"a": 0, "b": 3, "c": 7, "d": 4, "e": 8}
    for step in (6, 9, 15, 0):
        violation = moved(problem, start, e=step)
        assert str(violation) == "capacity of M violated in slot 0: usage 3, limit 2 (a, b, e)"
    assert moved(problem, start, e=1).step == 1
    for step in (2, 5, 17):
        assert verify(problem, start | {"e": step}) == []


def test_modulo_capacity_of_an_operation_that_wraps() -> None:
    ops = [{"name": "x", "occupancy": 3}, {"name": "y", "occupancy": 2}]
    problem = ModuloProblem(Graph.build(ops, limits={"op": 1}), ii=5, horizon=30)
    assert (
        str(moved(problem, {"x": 3, "y": 1}, y=0))
        == "capacity of op violated in slot 0: usage 2, limit 1 (x, y)"
    )
    assert str(moved(problem, {"x": 13, "y": 21}, y=22)) == (
        "capacity of op violated in slot 3: usage 2, limit 1 (x, y)"
    )


@settings(max_examples=150, deadline=None)
@given(graphs(min_ops=1, max_ops=6), st.data())
def test_one_step_past_a_dependence(graph: Graph, data: st.DataObject) -> None:
    """In the ASAP schedule, an operation moved a step early breaks exactly its tight edges, or the start."""
    early = gl.asap(graph)
    problem = LatencyProblem(graph)
    assert verify(problem, early) == []
    op = data.draw(st.integers(0, graph.n_ops - 1))
    start = early.copy()
    start[op] -= 1
    tight = np.flatnonzero((graph.dst == op) & (early[graph.src] + graph.lag == early[op]))
    violations = verify(problem, start)
    assert [v.edge for v in violations if v.constraint == "precedence"] == tight.tolist()
    assert [v.constraint for v in violations if v.edge is None] == ["start"] * bool(early[op] == 0)
    assert all(v.amount == 1 for v in violations)


@settings(max_examples=150, deadline=None)
@given(graphs(min_ops=1, max_ops=6, max_distance=2), st.data())
def test_one_step_past_the_latest_start(graph: Graph, data: st.DataObject) -> None:
    """In the ALAP schedule at some ii, an operation moved a step late breaks its tight edges, or the horizon."""
    ii = gl.mii(graph)
    horizon = gl.critical_path_length(graph, ii) + 2
    late = gl.alap(graph, horizon, ii)
    problem = ModuloProblem(graph, horizon=horizon, ii=ii)
    assume((late >= 0).all())
    assert verify(problem, late) == []
    op = data.draw(st.integers(0, graph.n_ops - 1))
    start = late.copy()
    start[op] += 1
    inner = graph.src != graph.dst
    slack = late[graph.dst] + graph.distance * ii - late[graph.src] - graph.lag
    tight = np.flatnonzero(inner & (graph.src == op) & (slack == 0))
    violations = verify(problem, start)
    assert [v.edge for v in violations if v.constraint == "precedence"] == tight.tolist()
    at_end = late[op] + graph.span[op] == horizon
    assert [v.constraint for v in violations if v.edge is None] == ["horizon"] * bool(at_end)
    assert all(v.amount == 1 for v in violations)
