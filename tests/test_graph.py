"""`Graph` and `GraphBuilder`: what they refuse and how they say so, what they derive, how they are copied."""

from __future__ import annotations

import copy
import pickle
import re
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import graphs

from gaus_lab.checks import MAX_INTEGER, integer, number, short
from gaus_lab.errors import GausLabError, GraphError, ProblemError
from gaus_lab.graph import Graph, GraphBuilder
from gaus_lab.graph.order import find_cycle

pytestmark = pytest.mark.fast

INT_ARRAYS = ("type_index", "latency", "occupancy", "src", "dst", "distance", "edge_latency")
ARRAYS = (*INT_ARRAYS, "weight", "bits", "cost")
MAPPINGS = ("limits", "resource_of_type", "attributes", "op_attributes", "edge_attributes")


def assert_same(left: Graph, right: Graph) -> None:
    assert (left.name, left.ops, left.types) == (right.name, right.ops, right.types)
    for key in ARRAYS:
        assert getattr(left, key).tolist() == getattr(right, key).tolist(), key
    for key in MAPPINGS:
        assert dict(getattr(left, key)) == dict(getattr(right, key)), key


def message(error: type[GausLabError], action, *args, **kwargs) -> str:
    with pytest.raises(error) as caught:
        action(*args, **kwargs)
    text = str(caught.value)
    assert "\n" not in text
    return text


# ---- single values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [3, 3.0, "3", " 3 ", "+3", "3.0", "3e0", np.int8(3), np.float32(3), Fraction(6, 2), np.uint64(3)]
)
def test_integers_are_exact_in_any_spelling(value) -> None:
    result = integer(value, "x")
    assert result == 3 and type(result) is int


@pytest.mark.parametrize(
    "value",
    [
        *(1.5, "1.5", "one", "", "0x3", "1_000", "³", "٣", "nan", "inf", "1e999", "- 1", "3" * 50),
        *(float("nan"), float("inf"), -float("inf"), np.float64("nan")),
        *(True, False, np.True_, None, [], [3], {}, b"3", 3 + 0j, object()),
        *(Fraction(1, 3), Fraction(10**400), Fraction(10**400, 3), Fraction(2**61 + 1, 2)),
    ],
)
def test_what_is_no_integer(value) -> None:
    assert message(GraphError, integer, value, "op 0 (a): latency").startswith("op 0 (a): latency must be ")


def test_integer_ranges() -> None:
    assert integer(MAX_INTEGER, "x") == 2**42
    assert integer(-5, "x", minimum=-5) == -5
    assert message(GraphError, integer, -1, "x") == "x must be >= 0, got -1"
    assert message(ProblemError, integer, 0, "ii", 1, ProblemError) == "ii must be >= 1, got 0"
    assert message(GraphError, integer, 1.5, "x", 1) == "x must be an integer >= 1, got 1.5"
    too_large = message(GraphError, integer, 2**42 + 1, "x")
    assert too_large == "x must be <= 2**42, got 4398046511105: choose a coarser unit"


def test_integers_too_long_to_write_out() -> None:
    for value in (10**5000, -(10**5000), Fraction(10**5000)):
        assert "an integer of 16610 bits" in message(GraphError, integer, value, "x")
        assert "an integer of 16610 bits" in message(GraphError, number, int(value), "x")


def test_number_keeps_fractions() -> None:
    assert number("0.5", "x") == 0.5 and number(Fraction(1, 4), "x") == 0.25
    assert type(number(2.0, "x")) is int
    for value in (-1, 2**43, float("nan"), True, "a", None):
        assert "x must be a finite number from 0 to 2**42, got" in message(GraphError, number, value, "x")


def test_short_is_one_line() -> None:
    assert short("a\n b") == r"'a\n b'"
    assert short("x" * 100) == "'" + "x" * 56 + "..."
    assert short([1, 2]) == "[1, 2]"


# ---- what a graph refuses ---------------------------------------------------------------------------------

PAIR = [{"name": "A"}, {"name": "B"}]


@pytest.mark.parametrize("key", ["latency", "occupancy", "weight", "bits"])
@pytest.mark.parametrize("value", [-1, "one", float("nan"), float("inf"), True, [1], 2**43])
def test_bad_value_of_an_operation_is_named(key: str, value) -> None:
    text = message(GraphError, Graph.build, ["first", {"name": "A", key: value}])
    assert text.startswith(f"op 1 (A): {key} must be ")


@pytest.mark.parametrize("key", ["distance", "latency", "cost"])
@pytest.mark.parametrize("value", [-1, "one", float("nan"), float("inf"), True, [1], 2**43])
def test_bad_value_of_an_edge_is_named(key: str, value) -> None:
    edges = [("A", "B"), {"src": "B", "dst": "A", "distance": 1} | {key: value}]
    text = message(GraphError, Graph.build, PAIR, edges)
    assert text.startswith(f"edge 1 (B -> A): {key} must be ")


@pytest.mark.parametrize("key", ["latency", "occupancy"])
def test_only_amounts_may_have_fractions(key: str) -> None:
    assert "an integer >= 0, got 1.5" in message(GraphError, Graph.build, [{"name": "A", key: 1.5}])
    graph = Graph.build(
        [{"name": "A", "weight": 1.5, "bits": 0.5}, "B"], [{"src": "A", "dst": "B", "cost": 0.25}]
    )
    assert (graph.weight.tolist(), graph.bits.tolist(), graph.cost.tolist()) == (
        [1.5, 1.0],
        [0.5, 1.0],
        [0.25],
    )


def test_malformed_records() -> None:
    for op in ({"type": "mul"}, 3, ("A",), None):
        assert message(GraphError, Graph.build, [op]).startswith("an operation must be a name or a dict")
    for edge in (("A",), ("A", "B", 1), "AB", {"src": "A"}, None, 7):
        assert message(GraphError, Graph.build, PAIR, [edge]).startswith("an edge must be a pair of names")
    assert message(GraphError, Graph.build, ["a"], [("a", "ghost")]) == (
        "edge 0 (a -> ghost): there is no operation 'ghost'; declare it, or correct the name"
    )
    assert "'a' is declared twice" in message(GraphError, Graph.build, ["a", "a"])
    assert "name of op 0 must be text, got 5" in message(GraphError, Graph.build, [{"name": 5}])
    assert "type of op 0 must be text, got 5" in message(GraphError, Graph.build, [{"name": "a", "type": 5}])
    assert "op type 'm' must be an object" in message(
        GraphError, Graph.build, [], op_types={"m": {"delay": 1}}
    )
    assert "latency must be >= 0" in message(GraphError, Graph.build, [], op_types={"m": {"latency": -1}})
    assert "limit of 'm' must be an integer" in message(GraphError, Graph.build, [], limits={"m": 1.5})


def test_where_comes_first() -> None:
    builder = GraphBuilder(where="net.dot")
    builder.add_op("a", where="net.dot:3")
    assert message(GraphError, builder.add_op, "a", where="net.dot:4").startswith("net.dot:4: operation 'a'")
    assert message(GraphError, builder.add_edge, "a", "b", where="net.dot:5").startswith(
        "net.dot:5: edge 0 (a"
    )
    builder.add_edge("a", "a")
    assert message(GraphError, builder.build).startswith("net.dot: graph 'graph' has a cycle of 1 operations")
    assert "a" in builder and "b" not in builder


def arrays(**changes):
    """The fields of a correct graph of two operations and one edge, with some changed."""
    one = {key: np.ones(2, dtype=int) for key in ("latency", "occupancy", "weight", "bits")}
    edge = {"src": [0], "dst": [1], "distance": [0], "edge_latency": [-1], "cost": [1]}
    return {"name": "g", "ops": ("a", "b"), "types": ("op",), "type_index": [0, 0], **one, **edge, **changes}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"latency": [1]}, "latency must have shape (2,), got (1,)"),
        ({"latency": [[1, 1]]}, "latency must have shape (2,), got (1, 2)"),
        ({"cost": [1, 2]}, "cost must have shape (1,), got (2,)"),
        ({"src": 0}, "src must have shape (1,), got ()"),
        ({"ops": ("a", "a")}, "operation name 'a' is used twice"),
        ({"ops": ("a", 1)}, "name of op 1 must be text, got 1"),
        ({"src": [2]}, "src of edge 0 must be an index from 0 to 1, got 2"),
        ({"dst": [-1]}, "dst of edge 0 must be an index from 0 to 1, got -1"),
        ({"src": [0.5]}, "src of edge 0 must be an index from 0 to 1, got 0.5"),
        ({"type_index": [0, 1]}, "type_index of op 1 must be an index from 0 to 0, got 1"),
        ({"latency": [1, 1.5]}, "op 1 (b): latency must be an integer >= 0, got 1.5"),
        ({"latency": [1, np.nan]}, "op 1 (b): latency must be an integer >= 0, got nan"),
        ({"occupancy": [-1, 1]}, "op 0 (a): occupancy must be an integer >= 0, got -1"),
        ({"weight": [np.nan, 1]}, "op 0 (a): weight must be >= 0, got nan"),
        ({"weight": [np.inf, 1]}, "weight sums to inf, must be < 2**62"),
        ({"weight": [2**61, 2**61]}, "weight sums to 4611686018427387904, must be < 2**62"),
        ({"latency": [2.0**62, 0]}, "latency sums to 4.6"),
        ({"bits": [2**64, 1]}, "bits must hold numbers of at most 64 bits, got dtype object"),
        ({"bits": np.array([2**63, 1], dtype=np.uint64)}, "bits must hold numbers of at most 64 bits"),
        ({"bits": [True, False]}, "bits must hold numbers of at most 64 bits, got dtype bool"),
        ({"bits": ["1", "2"]}, "bits must hold numbers of at most 64 bits, got dtype <U1"),
        ({"distance": [-1]}, "edge 0 (a -> b): distance must be an integer >= 0, got -1"),
        ({"edge_latency": [-2]}, "edge 0 (a -> b): edge_latency must be an integer >= -1, got -2"),
        ({"cost": [-0.5]}, "edge 0 (a -> b): cost must be >= 0, got -0.5"),
    ],
)
def test_bad_arrays(changes, expected: str) -> None:
    assert_same(Graph(**arrays()), Graph.build(["a", "b"], [("a", "b")], name="g"))
    assert expected in message(GraphError, Graph, **arrays(**changes))


def test_totals_just_below_the_bound_are_kept() -> None:
    graph = Graph(**arrays(weight=[2**61, 2**61 - 1], bits=[2.0**61, 5.0]))
    assert graph.weight.tolist() == [2**61, 2**61 - 1]
    assert graph.bits.tolist() == [2**61, 5] and graph.bits.dtype == np.int64


# ---- cycles -----------------------------------------------------------------------------------------------


def test_cycle_is_named() -> None:
    edges = [("in", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "out"), ("d", "d2")]
    text = message(GraphError, Graph.build, ["in", "a", "b", "c", "out", "d", "d2"], edges)
    assert text.startswith("graph 'graph' has a cycle of 3 operations whose distances sum to 0: ")
    assert re.search(r": (a -> b -> c -> a|b -> c -> a -> b|c -> a -> b -> c); remove an edge", text)
    assert "0: A -> A; " in message(GraphError, Graph.build, ["A"], [("A", "A")])
    zero = [{"name": "A", "latency": 0}, {"name": "B", "latency": 0}]
    assert "A -> B" in message(GraphError, Graph.build, zero, [("A", "B"), ("B", "A")])
    ring = [str(i) for i in range(100)]
    long = message(GraphError, Graph.build, ring, list(zip(ring, [*ring[1:], "0"], strict=True)))
    assert "cycle of 100 operations" in long and len(long) < 250


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 1)), max_size=14))
def test_cycles_of_distance_0_and_no_others(edges) -> None:
    plain = nx.DiGraph((u, v) for u, v, distance in edges if distance == 0)
    records = [{"src": str(u), "dst": str(v), "distance": d} for u, v, d in edges]
    names = [str(i) for i in range(6)]
    src, dst, distance = (np.array([e[k] for e in edges], dtype=np.int64) for k in range(3))
    cycle = find_cycle(6, src, dst, distance)
    if nx.is_directed_acyclic_graph(plain):
        assert cycle == []
        place = {op: k for k, op in enumerate(Graph.build(names, records).order.tolist())}
        assert sorted(place) == list(range(6))
        assert all(place[u] < place[v] for u, v in plain.edges)
    else:
        assert len(set(cycle)) == len(cycle)
        assert all(plain.has_edge(u, v) for u, v in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        assert "whose distances sum to 0" in message(GraphError, Graph.build, names, records)


def test_order_of_a_long_chain_needs_no_recursion() -> None:
    names = [str(i) for i in range(50_000)]
    graph = Graph.build(names, list(zip(names[1:], names[:-1], strict=True)))
    assert graph.order.tolist() == list(range(49_999, -1, -1))


# ---- what a graph derives ---------------------------------------------------------------------------------


def test_parallel_and_self_edges_are_kept() -> None:
    edges = [
        *({"src": "a", "dst": "b", "latency": latency} for latency in (4, 6)),
        {"src": "a", "dst": "a", "distance": 2},
        {"src": "a", "dst": "b", "distance": 1, "cost": 5},
    ]
    graph = Graph.build([{"name": "a", "latency": 3}, "b"], edges)
    assert graph.lag.tolist() == [4, 6, 3, 3]
    assert graph.successors("a") == ("b", "a") and graph.predecessors("b") == ("a",)
    assert graph.edge_label(2) == "edge 2 (a -> a)"
    offsets, by_producer = graph.out_edges
    assert (offsets.tolist(), by_producer.tolist()) == ([0, 4, 4], [0, 1, 2, 3])
    offsets, by_consumer = graph.in_edges
    assert (offsets.tolist(), by_consumer.tolist()) == ([0, 1, 4], [2, 0, 1, 3])


def test_latency_0_of_an_edge_is_not_the_producers() -> None:
    edges = [{"src": "a", "dst": "b", "latency": 0}, ("a", "b")]
    assert Graph.build([{"name": "a", "latency": 3}, "b"], edges).lag.tolist() == [0, 3]


def test_types_share_a_resource() -> None:
    types = {"add": {"resource": "ALU"}, "sub": {"resource": "ALU", "latency": 2}, "mul": {"occupancy": 3}}
    ops = [{"name": str(i), "type": t} for i, t in enumerate(["mul", "sub", "add", "mul"])]
    graph = Graph.build([*ops, {"name": "last", "type": "sub", "latency": 7}], op_types=types)
    assert graph.resources == ("mul", "ALU")
    assert graph.resource_index.tolist() == [0, 1, 1, 0, 1]
    assert graph.ops_on("ALU").tolist() == [1, 2, 4] and graph.ops_on("none").tolist() == []
    assert graph.latency.tolist() == [1, 2, 1, 1, 7] and graph.occupancy.tolist() == [3, 1, 1, 3, 1]
    assert graph.type_of("2") == "add"


def test_many_resources_cost_linear_time() -> None:
    graph = Graph.build([{"name": str(i), "type": str(i)} for i in range(20_000)])
    assert [graph.ops_on(str(i)).tolist() for i in (0, 19_999)] == [[0], [19_999]]
    assert sum(len(graph.ops_on(resource)) for resource in graph.resources) == 20_000


def test_empty_graph() -> None:
    graph = Graph.build([])
    assert (graph.n_ops, graph.n_edges, graph.resources, graph.order.tolist()) == (0, 0, (), [])
    assert graph.ops_on("op").tolist() == graph.resource_index.tolist() == graph.lag.tolist() == []
    assert [part.tolist() for part in graph.out_edges] == [[0], []]


def test_lookup() -> None:
    graph = Graph.build(["a", "1"], name="pair")
    assert (graph.index("1"), graph.index(1), graph.index(np.int64(0))) == (1, 1, 0)
    assert message(GraphError, graph.index, "c") == "graph 'pair' has no operation named 'c'"
    for i in (2, -1):
        assert f"has 2 operations, none with index {i}" in message(GraphError, graph.index, i)


# ---- copies -----------------------------------------------------------------------------------------------


def test_graph_is_read_only() -> None:
    latency = np.array([1, 2])
    graph = Graph(**arrays(latency=latency, ops=["a", "b"]))
    latency[0] = 9
    assert graph.latency.tolist() == [1, 2] and graph.ops == ("a", "b")
    for key in ARRAYS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(graph, key)[:] = 0
    with pytest.raises(TypeError):
        graph.limits["op"] = 1  # type: ignore[index]


@settings(max_examples=30)
@given(graphs(max_distance=2))
def test_copies_are_equal_and_read_only(graph: Graph) -> None:
    for other in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph), graph.replace()):
        assert_same(graph, other)
        assert not any(getattr(other, key).flags.writeable for key in ARRAYS)


def test_replace() -> None:
    graph = Graph.build(["a", "b"], [("a", "b")])
    assert graph.replace(latency=0, cost=7).lag.tolist() == [0]
    assert graph.replace(latency=[4, 5]).lag.tolist() == [4]
    assert graph.lag.tolist() == [1]
    assert "op 0 (a): latency must be an integer >= 0, got 1.5" in message(
        GraphError, graph.replace, latency=1.5
    )
    assert "a cycle of 1" in message(GraphError, graph.replace, dst=[0])
    scaled = graph.replace(weight=[0.25, 0.5])
    assert scaled.replace(weight=(1000 * scaled.weight).round()).weight.tolist() == [250, 500]


def test_subgraph() -> None:
    builder = GraphBuilder("big", limits={"mul": 2})
    for name, kind in zip("abcd", ["mul", "add", "mul", "add"], strict=True):
        builder.add_op(name, type=kind, latency=ord(name), note=name)
    for i, (u, v) in enumerate(["ab", "bc", "ac", "cd"]):
        builder.add_edge(u, v, distance=i, cost=i, tag=u + v)
    part = builder.build().subgraph(["d", 0, "c"])
    assert (part.ops, part.latency.tolist()) == (("a", "c", "d"), [97, 99, 100])
    assert [part.edge_label(e) for e in range(2)] == ["edge 0 (a -> c)", "edge 1 (c -> d)"]
    assert (part.distance.tolist(), part.cost.tolist()) == ([2, 3], [2, 3])
    assert dict(part.op_attributes) == {"note": {0: "a", 1: "c", 2: "d"}}
    assert dict(part.edge_attributes) == {"tag": {0: "ac", 1: "cd"}}
    assert part.subgraph([]).n_ops == 0
