"""The four problems: weights, limits, defaults, what they refuse, and why they call an instance infeasible."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import time
import warnings
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from small_graphs import graphs
from test_graph import message

import gaus_lab as gl
from gaus_lab.errors import GausLabWarning, ProblemError
from gaus_lab.graph import Graph
from gaus_lab.problem import (
    PROBLEMS,
    FootprintProblem,
    LatencyProblem,
    ModuloProblem,
    Problem,
    ResourceProblem,
)

pytestmark = pytest.mark.fast

KINDS = list(PROBLEMS.values())


def mixed(**settings) -> Graph:
    """Two multiplications that feed an addition."""
    ops = [{"name": "m0", "type": "mul"}, {"name": "m1", "type": "mul"}, {"name": "a0", "type": "add"}]
    return Graph.build(ops, [("m0", "a0"), ("m1", "a0")], **settings)


# ---- weights ----------------------------------------------------------------------------------------------


def test_default_weights() -> None:
    problem = ResourceProblem(mixed())
    assert problem.resource_weights == {"mul": 1, "add": 1} and problem.communication_weight == 0
    assert problem.objective(problem.schedule([0, 0, 1])) == 3


def test_given_weights() -> None:
    problem = ResourceProblem(mixed(), 4, resource_weights={"mul": 10}, communication_weight=3)
    assert problem.objective(problem.schedule([0, 1, 3])) == 10 * 1 + 3 * (3 + 2)
    assert problem.replace(resource_weights=7).resource_weights == {"mul": 7, "add": 7}
    assert problem.bound() == 10 + 3 * 2


@pytest.mark.parametrize(
    ("width", "uses", "expected"),
    [
        (4, 1, (1, 8)),
        (1, 8, (4, 1)),
        (1, 9, (4, 1)),  # 4.5: halves to even
        (1, 11, (6, 1)),
        (1, 0, (1, 1)),
        (0, 4, (1, 1)),
        (2**40, 1, (1, 2**41)),
    ],
)
def test_balanced_weights(width: int, uses: int, expected) -> None:
    """The peaks of two types add up to ``2 * width``, the communication is the number of `uses`."""
    ops = [{"name": "p", "weight": width}, {"name": "c", "type": "other", "weight": width}]
    graph = Graph.build(ops, [("p", "c")] * uses)
    problem = ResourceProblem(graph, weights="balanced")
    assert (
        set(problem.resource_weights.values()) == {expected[0]}
        and problem.communication_weight == expected[1]
    )


def test_balanced_weights_add_up_the_peaks_of_all_types() -> None:
    # ASAP has peaks 4 and 2, and the communication of 2 edges: P = 6, C = 2.
    ops = [
        *({"name": f"m{i}", "type": "mul"} for i in range(4)),
        *({"name": f"a{i}", "type": "add"} for i in range(3)),
    ]
    problem = ResourceProblem(Graph.build(ops, [("m0", "a0"), ("m1", "a1")]), weights="balanced")
    assert (dict(problem.resource_weights), problem.communication_weight) == ({"mul": 1, "add": 1}, 3)
    crossed = Graph.build(ops, [("m0", "a0")] * 30)
    assert ResourceProblem(crossed, weights="balanced").resource_weights == {"mul": 5, "add": 5}


@settings(max_examples=100, deadline=None)
@given(graphs(max_edges=12))
def test_balanced_weights_by_the_definition(graph: Graph) -> None:
    problem = ResourceProblem(graph, weights="balanced")
    early = problem.schedule(gl.asap(graph))
    peak, communication = sum(early.peak_usage.values()), early.communication
    expected = (1, 1)
    if peak and communication:
        expected = max(1, round(communication / peak)), max(1, round(peak / communication))
    assert problem.resource_weights == dict.fromkeys(graph.resources, expected[0])
    assert problem.communication_weight == expected[1]


def test_balanced_and_given_weights_exclude_each_other() -> None:
    text = "weights='balanced' sets both weights; leave the others out"
    for given_weights in ({"resource_weights": 1}, {"communication_weight": 0}):
        assert message(ProblemError, ResourceProblem, mixed(), weights="balanced", **given_weights) == text
    assert message(ProblemError, ResourceProblem, mixed(), weights="fair") == (
        "weights must be 'balanced' or None, got 'fair'"
    )


@pytest.mark.parametrize("value", [-1, 0.5, "x", True, float("nan"), 2**43])
def test_weights_are_integers(value) -> None:
    for weights in (value, {"mul": value}):
        text = message(ProblemError, ResourceProblem, mixed(), resource_weights=weights)
        assert text.startswith("resource weight of mul must be ")
    text = message(ProblemError, ResourceProblem, mixed(), communication_weight=value)
    assert text.startswith("communication_weight must be ")


def test_weight_of_an_unused_resource_warns() -> None:
    with pytest.warns(
        GausLabWarning, match="resource weight of 'Mul' has no effect.*the graph has 'mul', 'add'"
    ):
        problem = ResourceProblem(mixed(), resource_weights={"Mul": 3, "add": 2})
    assert problem.resource_weights == {"add": 2}


# ---- limits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_limits_come_from_the_graph_unless_given(kind: type[Problem]) -> None:
    graph = mixed(limits={"mul": 2})
    assert kind(graph).limits == {"mul": 2}
    assert kind(graph, limits={"add": 1}).limits == {"add": 1}
    assert kind(graph, limits={}).limits == {}
    assert kind(graph, limits={"mul": "3", "add": 2.0}).limits == {"mul": 3, "add": 2}


@pytest.mark.parametrize("kind", KINDS)
def test_limit_0_is_an_error_where_the_resource_is_used(kind: type[Problem]) -> None:
    text = "limit of mul must be >= 1, got 0: graph 'graph' has operations on it; leave the limit out for "
    text += "unlimited units"
    assert message(ProblemError, kind, mixed(), limits={"mul": 0}) == text
    assert message(ProblemError, kind, mixed(limits={"mul": 0})) == text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("units", [-1, 1.5, "x", True, None, float("inf"), 2**43])
def test_limits_are_integers(kind: type[Problem], units) -> None:
    assert message(ProblemError, kind, mixed(), limits={"mul": units}).startswith("limit of mul must be ")


def test_limits_are_a_mapping() -> None:
    for limits in (3, [("mul", 1)], "mul=1"):
        assert message(ProblemError, LatencyProblem, mixed(), limits=limits).startswith(
            "limits must map resources"
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("units", [0, 1])
def test_unused_limit_warns_once_and_is_dropped(kind: type[Problem], units: int) -> None:
    for graph, limits in (
        (mixed(), {"Mul": units, "mul": 1}),
        (mixed(limits={"Mul": units, "mul": 1}), None),
    ):
        with pytest.warns(GausLabWarning) as caught:
            problem = kind(graph, limits=limits)
        assert [str(warning.message) for warning in caught] == [
            "limit of 'Mul' has no effect: no operation of graph 'graph' uses that resource; "
            "the graph has 'mul', 'add'"
        ]
        assert problem.limits == {"mul": 1}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert pickle.loads(pickle.dumps(problem.replace(horizon=9))).limits == {"mul": 1}


def test_limit_on_a_type_that_shares_a_resource_names_the_resource() -> None:
    graph = Graph.build([{"name": "a", "type": "sub"}], op_types={"sub": {"resource": "ALU"}})
    with pytest.warns(
        GausLabWarning, match="'sub' has no effect.*operations of this type use the resource 'ALU'"
    ):
        LatencyProblem(graph, limits={"sub": 1})
    with pytest.warns(GausLabWarning, match="the graph has none"):
        LatencyProblem(Graph.build([]), limits={"op": 1})


# ---- horizon, ii and the integers of the graph ------------------------------------------------------------


def test_default_horizons() -> None:
    loop = Graph.build(
        [{"name": "a", "latency": 3}, "b"], [("a", "b"), {"src": "b", "dst": "a", "distance": 1}]
    )
    assert ResourceProblem(loop).horizon == FootprintProblem(loop).horizon == 4
    assert LatencyProblem(loop).horizon is None
    assert (ModuloProblem(loop).ii, ModuloProblem(loop).horizon) == (4, 8)
    assert ModuloProblem(loop, limits={"op": 1}, ii=7).horizon == 11
    assert ModuloProblem(loop, ii=3).infeasibility() == (
        "II 3 breaks the recurrence a -> b -> a: its lags sum to 4 over 1 iterations, which needs II >= 4"
    )
    assert [kind(Graph.build([])).horizon for kind in KINDS] == [0, 0, 1, None]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("horizon", [-1, 1.5, "x", True, float("nan"), 2**43])
def test_horizon_is_an_integer(kind: type[Problem], horizon) -> None:
    assert message(ProblemError, kind, mixed(), horizon).startswith("horizon must be ")


@pytest.mark.parametrize("ii", [0, -1, 1.5, "x", True])
def test_ii_is_an_integer(ii) -> None:
    assert message(ProblemError, ModuloProblem, mixed(), ii=ii).startswith("ii must be ")


def test_a_critical_path_that_is_too_long() -> None:
    graph = Graph.build([{"name": x, "latency": 2**42} for x in "ab"], [("a", "b")])
    for kind in (ResourceProblem, FootprintProblem):
        text = message(ProblemError, kind, graph)
        assert text.startswith("the default horizon, which follows from the critical path, must be <= 2**42")
    assert "the dependences need 8796093022208" in ResourceProblem(graph, 2**42).infeasibility()
    assert "the dependences need 8796093022208" in ModuloProblem(graph).infeasibility()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", ["weight", "bits", "cost"])
def test_fractions_are_refused_with_a_remedy(kind: type[Problem], key: str) -> None:
    ops = [{"name": "a", "weight": 0.5, "bits": 0.25}, "b"]
    graph = Graph.build(ops, [{"src": "a", "dst": "b", "cost": 0.125}])
    whole = {other: 1 for other in ("weight", "bits", "cost") if other != key}
    text = message(ProblemError, kind, graph.replace(**whole))
    assert text.startswith(f"graph 'graph': {key} has values with a fractional part; ")
    graph = graph.replace(**whole)
    remedied = eval(text.split("e.g. ")[1], {"graph": graph})  # the message is meant to be pasted
    assert getattr(kind(remedied).graph, key)[0] == round(1000 * getattr(graph, key)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_is_needed(kind: type[Problem]) -> None:
    assert message(ProblemError, kind, {"a": 1}).startswith("graph must be a Graph, got {'a': 1}; read one")


# ---- copies -----------------------------------------------------------------------------------------------


def problems() -> list[Problem]:
    graph = mixed(limits={"mul": 2})
    return [
        ResourceProblem(graph, 5, weights="balanced"),
        ResourceProblem(graph, 5, {"add": 1}, {"mul": 3}, 2),
        FootprintProblem(graph, 6, hold_outputs=True),
        ModuloProblem(graph, 9, ii=3, hold_outputs=True),
        LatencyProblem(graph, limits={"mul": 1}),
    ]


@pytest.mark.parametrize("problem", problems(), ids=repr)
def test_copies(problem: Problem) -> None:
    others = (problem.replace(), pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem))
    for other in others:
        assert type(other) is type(problem) and other.to_dict() == problem.to_dict()
        assert other.graph.ops == problem.graph.ops
    changed = problem.replace(horizon=50)
    assert changed.to_dict() == problem.to_dict() | {"horizon": 50}
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.horizon = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        problem.limits["mul"] = 7  # type: ignore[index]


def test_replace_checks_again() -> None:
    problem = ResourceProblem(mixed(), weights="balanced")
    assert "limit of mul must be >= 1" in message(ProblemError, problem.replace, limits={"mul": 0})
    assert message(ProblemError, problem.replace, horizon=-1) == "horizon must be >= 0, got -1"
    with pytest.raises(TypeError):
        problem.replace(horizn=3)


def test_to_dict_is_plain() -> None:
    expected = {"formulation": "A", "horizon": 5, "ii": None, "limits": {"add": 1}}
    expected |= {"resource_weights": {"mul": 3}, "communication_weight": 2}
    record = problems()[1].to_dict()
    assert record == expected
    assert not any(isinstance(value, MappingProxyType) for value in record.values())
    assert problems()[3].to_dict()["ii"] == 3 and problems()[4].to_dict()["horizon"] is None
    assert [type(problem).formulation for problem in problems()] == ["A", "A", "B", "C", "R"]


def test_repr() -> None:
    assert repr(problems()[3]) == (
        "ModuloProblem(Graph('graph', 3 operations, 2 edges), horizon 9, II 3, limits {'mul': 2})"
    )


# ---- objectives and terms ---------------------------------------------------------------------------------


def test_terms() -> None:
    graph = mixed().replace(bits=[8, 4, 2])
    for kind in KINDS:
        problem = kind(graph, 9)
        terms = problem.terms(problem.schedule([0, 1, 3]))
        expected = {"peak_usage": {"mul": 1, "add": 1}, "communication": 5, "footprint": 12, "makespan": 4}
        if kind is ModuloProblem:
            expected |= {"peak_usage": {"mul": 2, "add": 1}, "footprint": 8 * 3 + 4 * 2}
        assert terms == expected


def test_held_outputs_count_in_objective_and_terms() -> None:
    graph = Graph.build([{"name": "a", "bits": 8}, {"name": "b", "bits": 4}], [])
    for hold, footprint in ((False, 0), (True, 12)):
        problem = FootprintProblem(graph, 3, hold_outputs=hold)
        schedule = problem.schedule([0, 1])
        assert problem.objective(schedule) == problem.terms(schedule)["footprint"] == footprint
    problem = ModuloProblem(graph, 3, ii=2, hold_outputs=True)
    assert problem.objective(problem.schedule([0, 1])) == 8 * 2 + 4


# ---- infeasible instances ---------------------------------------------------------------------------------


def test_horizon_below_the_critical_path_names_the_path() -> None:
    ops = [{"name": x, "latency": lag} for x, lag in zip("abcd", (2, 3, 1, 1), strict=True)]
    graph = Graph.build(ops, [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    text = "the horizon is 5 steps, the dependences need 6 along a -> b -> d; use a horizon of 6 or more"
    for kind in (ResourceProblem, FootprintProblem, LatencyProblem):
        assert kind(graph, 5).infeasibility() == text
        assert kind(graph, 6).infeasibility() is None
    assert (
        ResourceProblem(graph, 5, communication_weight=1).bound() == FootprintProblem(graph, 5).bound() == 0
    )
    assert ModuloProblem(graph, 5, ii=1).infeasibility() == text.replace(" along a -> b -> d", "")


@pytest.mark.parametrize("kind", KINDS)
def test_operation_that_is_larger_than_its_limit(kind: type[Problem]) -> None:
    graph = Graph.build(["small", {"name": "large", "weight": 3}])
    assert kind(graph, 9, {"op": 2}).infeasibility() == "op 1 (large) uses 3 units of op, the limit is 2"
    assert kind(graph, 9, {"op": 3}).infeasibility() is None
    assert kind(graph.replace(occupancy=[1, 0]), 9, {"op": 2}).infeasibility() is None


def test_work_over_the_horizon() -> None:
    graph = Graph.build([{"name": f"m{i}", "type": "mul"} for i in range(5)])
    text = "the operations on mul need 5 unit-steps, 1 units over the horizon of 4 offer 4"
    for kind in (ResourceProblem, FootprintProblem, LatencyProblem):
        assert kind(graph, 4, {"mul": 1}).infeasibility() == text
        assert kind(graph, 5, {"mul": 1}).infeasibility() is None
    assert LatencyProblem(graph, limits={"mul": 1}).infeasibility() is None
    assert ModuloProblem(graph, 50, {"mul": 2}, ii=2).infeasibility() == (
        "the operations on mul need 5 unit-steps, 2 units over the II of 2 offer 4"
    )
    assert ModuloProblem(graph, 50, {"mul": 2}, ii=3).infeasibility() is None


def test_operations_may_stay_busy_after_the_horizon() -> None:
    graph = Graph.build([{"name": x, "occupancy": 5} for x in "ab"])
    problem = ResourceProblem(graph, 6, {"op": 1})
    assert problem.infeasibility() is None and gl.verify(problem, [0, 5]) == []


def test_infeasibility_beyond_64_bits() -> None:
    ops = [{"name": x, "weight": 2**42, "occupancy": 2**42, "latency": 2**42} for x in "abc"]
    text = LatencyProblem(Graph.build(ops), 2**42, {"op": 2**42}).infeasibility()
    assert text == (
        f"the operations on op need {3 * 2**84} unit-steps, {2**42} units over the horizon of {2**42} offer {2**84}"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_empty_graph(kind: type[Problem]) -> None:
    problem = kind(Graph.build([]))
    schedule = problem.schedule([])
    assert problem.infeasibility() is None and gl.verify(problem, schedule) == []
    assert problem.objective(schedule) == problem.bound() == 0


def test_many_resources_cost_linear_time() -> None:
    count = 20_000
    graph = Graph.build([{"name": str(i), "type": f"t{i}"} for i in range(count)])
    limits = {f"t{i}": 1 for i in range(count)}
    begin = time.perf_counter()
    problem = ResourceProblem(graph, 2, limits)
    assert (
        time.perf_counter() - begin < 4
    )  # a fraction of a second; comparing all pairs of names takes longer
    assert sum(problem.limits.values()) == sum(problem.resource_weights.values()) == count
