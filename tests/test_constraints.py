"""Violations: which, how large, and every message word for word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import graphs, is_legal_in_time
from test_graph import message
from test_schedule import STARTS, naive_usage

from gaus_lab import constraints
from gaus_lab.constraints import Violation
from gaus_lab.errors import ProblemError
from gaus_lab.graph import Graph
from gaus_lab.problem import LatencyProblem, ModuloProblem, ResourceProblem
from gaus_lab.schedule import Schedule
from gaus_lab.verify import verify

pytestmark = pytest.mark.fast


def texts(violations: list[Violation]) -> list[str]:
    return [str(violation) for violation in violations]


def test_precedence() -> None:
    edges = [("mul3", "add9"), {"src": "add9", "dst": "mul3", "distance": 2, "latency": 5}]
    graph = Graph.build([{"name": "mul3", "latency": 7}, "add9"], edges)
    assert texts(constraints.precedence(Schedule(graph, [0, 6]))) == [
        "precedence mul3 -> add9 violated: result at 7, start at 6 (distance 0)"
    ]
    assert texts(constraints.precedence(Schedule(graph, [0, 7]))) == []
    assert texts(constraints.precedence(Schedule(graph, [0, 6], ii=4))) == [
        "precedence mul3 -> add9 violated: result at 7, start at 6 (distance 0, II 4)",
        "precedence add9 -> mul3 violated: result at 11, start at 8 (distance 2, II 4)",
    ]
    both = constraints.precedence(Schedule(graph, [0, 6], ii=4))
    assert [(v.constraint, v.left, v.right, v.amount, v.edge, v.ops) for v in both] == [
        ("precedence", 7, 6, 1, 0, ("mul3", "add9")),
        ("precedence", 11, 8, 3, 1, ("add9", "mul3")),
    ]


def test_every_parallel_edge_is_judged() -> None:
    edges = [
        {"src": "a", "dst": "b", "latency": lag, "distance": d} for lag, d in [(1, 0), (3, 0), (9, 1), (2, 0)]
    ]
    graph = Graph.build("ab", edges)
    assert [v.edge for v in constraints.precedence(Schedule(graph, [0, 1]))] == [1, 3]
    assert [v.edge for v in constraints.precedence(Schedule(graph, [0, 1], ii=7))] == [1, 2, 3]


def test_self_edge() -> None:
    graph = Graph.build([{"name": "acc", "latency": 8}], [{"src": "acc", "dst": "acc", "distance": 1}])
    assert (
        constraints.precedence(Schedule(graph, [5]))
        == constraints.precedence(Schedule(graph, [5], ii=8))
        == []
    )
    assert texts(constraints.precedence(Schedule(graph, [5], ii=7))) == [
        "precedence acc -> acc violated: result at 13, start at 12 (distance 1, II 7)"
    ]


def test_carried_precedence_beyond_64_bits() -> None:
    edges = [{"src": "a", "dst": "b", "distance": 2**42, "latency": 2**42}]
    graph = Graph.build("ab", edges)
    assert constraints.precedence(Schedule(graph, [2**42, -(2**42)], ii=2**42)) == []
    (violation,) = constraints.precedence(Schedule(graph.replace(distance=1), [2**42, -(2**42)], ii=2**42))
    assert (violation.left, violation.right) == (2**43, 0)


def test_horizon_and_start() -> None:
    graph = Graph.build([{"name": "a", "latency": 3}, {"name": "z", "latency": 0}, "c"])
    schedule = Schedule(graph, [4, 6, -2])
    assert texts(constraints.horizon(schedule, 6)) == [
        "start of c violated: starts at -2, the first step is 0",
        "horizon of a violated: ends at 7, horizon 6",
        "horizon of z violated: ends at 7, horizon 6",
    ]
    assert [(v.constraint, v.left, v.right, v.amount) for v in constraints.horizon(schedule, 6)] == [
        ("start", 2, 0, 2),
        ("horizon", 7, 6, 1),
        ("horizon", 7, 6, 1),
    ]
    assert texts(constraints.horizon(schedule, 7)) == texts(constraints.horizon(schedule, None))
    assert len(constraints.horizon(schedule, None)) == 1


def test_capacity() -> None:
    ops = [
        {"name": name, "type": "MUL", "occupancy": n, "weight": w}
        for name, n, w in [("a", 4, 1), ("b", 2, 2)]
    ]
    graph = Graph.build([*ops, {"name": "c", "type": "ADD"}])
    (violation,) = constraints.capacity(Schedule(graph, [0, 1, 0]), {"MUL": 2, "ADD": 1, "none": 0})
    assert str(violation) == "capacity of MUL violated in steps 1 to 2: usage 3, limit 2 (a, b)"
    assert (violation.left, violation.right, violation.resource) == (3, 2, "MUL")
    assert (violation.step, violation.steps, violation.ops) == (1, 2, ("a", "b"))
    assert texts(constraints.capacity(Schedule(graph, [0, 3, 0]), {"MUL": 2})) == [
        "capacity of MUL violated in step 3: usage 3, limit 2 (a, b)"
    ]
    assert constraints.capacity(Schedule(graph, [0, 4, 0]), {"MUL": 2}) == []
    assert constraints.capacity(Schedule(graph, [0, 0, 0]), {}) == []


def test_modulo_capacity() -> None:
    graph = Graph.build([{"name": "x", "occupancy": 3}, {"name": "y", "occupancy": 2}])
    assert texts(constraints.capacity(Schedule(graph, [3, 0], ii=5), {"op": 1})) == [
        "capacity of op violated in slot 0: usage 2, limit 1 (x, y)"
    ]
    assert constraints.capacity(Schedule(graph, [3, 1], ii=5), {"op": 1}) == []
    assert texts(constraints.capacity(Schedule(graph, [-2, 0], ii=2), {"op": 2})) == [
        "capacity of op violated in slot 0: usage 3, limit 2 (x, y)"
    ]
    long = Graph.build([{"name": "d", "occupancy": 2**40}])
    (violation,) = constraints.capacity(Schedule(long, [7], ii=3), {"op": 2**40 // 3})
    assert (violation.left, violation.step) == (2**40 // 3 + 1, 1)


def test_negative_steps() -> None:
    graph = Graph.build("ab")
    assert texts(constraints.capacity(Schedule(graph, [-3, -3]), {"op": 1})) == [
        "capacity of op violated in step -3: usage 2, limit 1 (a, b)"
    ]
    assert texts(constraints.capacity(Schedule(graph, [-1, 2], ii=3), {"op": 1})) == [
        "capacity of op violated in slot 2: usage 2, limit 1 (a, b)"
    ]


def test_a_run_of_steps_ends_where_other_operations_are_busy() -> None:
    ops = [{"name": name, "occupancy": n} for name, n in [("a", 4), ("b", 2), ("c", 2)]]
    assert texts(constraints.capacity(Schedule(Graph.build(ops), [0, 0, 2]), {"op": 1})) == [
        "capacity of op violated in steps 0 to 1: usage 2, limit 1 (a, b)",
        "capacity of op violated in steps 2 to 3: usage 2, limit 1 (a, c)",
    ]


def test_operations_that_use_nothing_are_not_blamed() -> None:
    ops = [
        "a",
        {"name": "idle", "weight": 0},
        {"name": "instant", "occupancy": 0},
        "b",
        {"name": "o", "type": "x"},
    ]
    (violation,) = constraints.capacity(Schedule(Graph.build(ops), [0] * 5), {"op": 1})
    assert violation.ops == ("a", "b")


def test_long_lists_are_cut_in_the_message_only() -> None:
    graph = Graph.build([f"m{i}" for i in range(12)])
    (violation,) = constraints.capacity(Schedule(graph, [0] * 12), {"op": 1})
    assert str(violation).endswith("(m0, m1, m2, m3, m4, m5, m6, m7, ...)") and len(violation.ops) == 12


@settings(max_examples=300, deadline=None)
@given(graphs(max_distance=2, max_occupancy=7), STARTS, st.none() | st.integers(1, 5), st.integers(1, 12))
def test_no_violation_means_legal(graph: Graph, starts, ii, horizon: int) -> None:
    start = tuple(starts[: graph.n_ops])
    schedule = Schedule(graph, start, ii)
    found = [*constraints.precedence(schedule), *constraints.horizon(schedule, horizon)]
    assert (found == []) == is_legal_in_time(graph, start, horizon, ii)
    assert all(v.amount > 0 for v in found)


@settings(max_examples=300, deadline=None)
@given(graphs(max_occupancy=7), STARTS, st.none() | st.integers(1, 5), st.integers(1, 6))
def test_capacity_violations_are_the_overloaded_steps(graph: Graph, starts, ii, limit: int) -> None:
    schedule = Schedule(graph, starts[: graph.n_ops], ii)
    usage, over = naive_usage(schedule), []
    for violation in constraints.capacity(schedule, dict.fromkeys(("mul", "add"), limit)):
        steps = range(violation.step, violation.step + violation.steps)
        over += [(violation.resource, step, violation.left) for step in steps]
        assert violation.right == limit and violation.ii == ii
        for step in steps:
            busy = [
                graph.ops[i]
                for i in range(graph.n_ops)
                if graph.type_of(i) == violation.resource
                and graph.weight[i]
                and any(
                    (d if ii is None else d % ii) == step
                    for d in range(schedule.start_of(i), schedule.start_of(i) + int(graph.occupancy[i]))
                )
            ]
            assert violation.ops == tuple(busy)
    assert sorted(over) == sorted(
        (r, d, n) for r, amounts in usage.items() for d, n in amounts.items() if n > limit
    )


# ---- verify -----------------------------------------------------------------------------------------------


def test_verify_puts_all_constraints_together() -> None:
    graph = Graph.build("abc", [("a", "b")], limits={"op": 1})
    problem = ResourceProblem(graph, horizon=2)
    assert texts(verify(problem, {"a": 1, "b": 1, "c": -1})) == [
        "precedence a -> b violated: result at 2, start at 1 (distance 0)",
        "start of c violated: starts at -1, the first step is 0",
        "capacity of op violated in step 1: usage 2, limit 1 (a, b)",
    ]
    assert verify(problem.replace(limits={}), [0, 1, 1]) == []


def test_verify_refuses_what_does_not_fit() -> None:
    graph = Graph.build("ab", name="own")
    plain, modulo = LatencyProblem(graph), ModuloProblem(graph, ii=2)
    assert verify(modulo, [0, 1]) == verify(modulo, modulo.schedule([0, 1])) == []
    assert "has II None, the problem II 2" in message(ProblemError, verify, modulo, plain.schedule([0, 1]))
    assert "has II 2, the problem II None" in message(ProblemError, verify, plain, modulo.schedule([0, 1]))
    other = Schedule(Graph.build("xy", name="other"), [0, 1])
    assert "is of graph 'other', the problem of graph 'own'" in message(ProblemError, verify, plain, other)
    assert "no start for operation 'b'" in message(ProblemError, verify, plain, {"a": 0})


def test_verify_judges_by_the_graph_of_the_problem() -> None:
    loose, strict = Graph.build("ab"), Graph.build("ab", [("a", "b")])
    assert len(verify(LatencyProblem(strict), Schedule(loose, [0, 0]))) == 1


@given(graph=graphs(max_distance=2), seed=st.integers(0, 999), ii=st.none() | st.integers(1, 4))
@settings(deadline=None, max_examples=150)
def test_all_hold_says_what_the_lists_say(graph: Graph, seed: int, ii: int | None) -> None:
    rng = np.random.default_rng(seed)
    schedule = Schedule(graph, np.sort(rng.integers(-1, 9, graph.n_ops)), ii)
    steps, limits = int(rng.integers(6, 12)), {"mul": int(rng.integers(1, 6))}
    listed = [
        *constraints.precedence(schedule),
        *constraints.horizon(schedule, steps),
        *constraints.capacity(schedule, limits),
    ]
    assert constraints.all_hold(schedule, steps, limits) == (not listed)
