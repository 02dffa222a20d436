"""`explain`: reasons for infeasible problems as data, and the parts of bounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import graphs

import gaus_lab as gl
from gaus_lab.explain import Reason, explain

pytestmark = pytest.mark.fast
CHAIN = gl.Graph.build(["a", "b", "c"], [("a", "b"), ("b", "c")])
LOOP = gl.Graph.build(
    ["a", {"name": "b", "latency": 2}], [("a", "b"), {"src": "b", "dst": "a", "distance": 1}]
)


def test_a_path_longer_than_the_horizon() -> None:
    found = explain(gl.FootprintProblem(CHAIN, horizon=2))
    assert found.reasons == (Reason("path", ("a", "b", "c"), None, 3, 2),)
    assert found.bound is None
    assert "path a -> b -> c takes 3 steps, the horizon is 2" in repr(found)


def test_a_recurrence_above_the_ii() -> None:
    (reason,) = explain(gl.ModuloProblem(LOOP, ii=2)).reasons
    assert (reason.rule, set(reason.ops), reason.need, reason.have) == ("recurrence", {"a", "b"}, 3, 2)


def test_units_of_a_type_and_of_an_operation() -> None:
    wide = gl.Graph.build(["a", "b", "c"])
    assert explain(gl.ResourceProblem(wide, 1, {"op": 2})).reasons == (Reason("units", (), "op", 3, 2),)
    assert explain(gl.ModuloProblem(wide, limits={"op": 1}, ii=2)).reasons == (
        Reason("units", (), "op", 2, 1),
    )
    heavy = gl.Graph.build([{"name": "a", "weight": 5}])
    assert explain(gl.LatencyProblem(heavy, limits={"op": 4})).reasons == (
        Reason("operation", ("a",), "op", 5, 4),
    )


def test_parts_of_a_bound() -> None:
    problem = gl.ResourceProblem(CHAIN, horizon=5, resource_weights={"op": 1}, communication_weight=1)
    found = explain(problem)
    assert (found.bound, found.parts) == (3, (("peak usage of op", 1), ("communication", 2)))
    assert explain(gl.ModuloProblem(LOOP)).parts[:3] == (("ResMII", 0), ("RecMII", 3), ("MII", 3))
    assert dict(explain(gl.LatencyProblem(CHAIN, limits={"op": 1})).parts) == {
        "critical path": 3,
        "work on op": 3,
    }


@given(graphs(max_ops=5), st.integers(0, 6), st.integers(1, 3), st.sampled_from("ABCR"))
@settings(deadline=None, max_examples=150)
def test_reasons_agree_with_the_tests_of_the_problem(
    graph: gl.Graph, steps: int, units: int, form: str
) -> None:
    limits = dict.fromkeys(graph.resources, units)
    problem: gl.ResourceProblem | gl.FootprintProblem | gl.ModuloProblem | gl.LatencyProblem
    if form == "C":
        problem = gl.ModuloProblem(graph, steps, limits, ii=max(1, steps // 2))
    else:
        kind = {"A": gl.ResourceProblem, "B": gl.FootprintProblem, "R": gl.LatencyProblem}[form]
        problem = kind(graph, steps, limits)
    found = explain(problem)
    if found.reasons:
        assert gl.solve(problem, gl.CpSat()).status is gl.Status.INFEASIBLE
    else:
        assert found.bound is None or found.bound == problem.bound()
