"""Graphs from and to networkx: everything survives the round trip."""

from __future__ import annotations

import itertools
from collections import Counter

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import graphs
from test_graph import assert_same, message

from gaus_lab.analysis import asap
from gaus_lab.errors import GraphError
from gaus_lab.graph import Graph, GraphBuilder

pytestmark = pytest.mark.fast

#: Names that collide with parameters, properties or networkx's own words.
WORDS = [
    *("self", "name", "where", "src", "dst", "key", "node_for_adding", "u_for_edge", "v_for_edge"),
    *("incoming_graph_data", "multigraph_input", "attr", "graph", "label", "type_", "", "a b", "\u00fc", "1"),
]


def edge_rows(graph: Graph) -> Counter:
    """Every edge with all that is known about it; networkx does not keep the order across producers."""
    columns = (graph.src, graph.dst, graph.distance, graph.edge_latency, graph.cost)
    return Counter(
        (
            *row,
            tuple(
                sorted((key, by_index[e]) for key, by_index in graph.edge_attributes.items() if e in by_index)
            ),
        )
        for e, row in enumerate(zip(*(column.tolist() for column in columns), strict=True))
    )


def assert_same_up_to_edge_order(left: Graph, right: Graph) -> None:
    assert edge_rows(left) == edge_rows(right)
    no_edges = {key: [] for key in ("src", "dst", "distance", "edge_latency", "cost")}
    assert_same(left.replace(**no_edges, edge_attributes={}), right.replace(**no_edges, edge_attributes={}))


@st.composite
def annotated_graphs(draw: st.DrawFn) -> Graph:
    graph = draw(graphs(max_distance=2))
    plain = st.dictionaries(
        st.sampled_from(["note", "key", "u_for_edge", "a b", "x"]), st.integers(), max_size=3
    )

    def by_index(count: int) -> dict[str, dict[int, int]]:
        table: dict[str, dict[int, int]] = {}
        for i in range(count):
            for key, value in draw(plain).items():
                table.setdefault(key, {})[i] = value
        return table

    names = draw(st.lists(st.text(max_size=4), min_size=graph.n_ops, max_size=graph.n_ops, unique=True))
    return graph.replace(
        ops=tuple(names),
        limits=draw(st.dictionaries(st.sampled_from(["mul", "add", "ALU"]), st.integers(1, 4))),
        resource_of_type=dict.fromkeys(
            draw(st.sets(st.sampled_from(graph.types or ("mul",)))) if graph.types else (), "ALU"
        ),
        attributes=draw(st.dictionaries(st.sampled_from(WORDS[3:]), st.integers(), max_size=4)),
        op_attributes=by_index(graph.n_ops),
        edge_attributes=by_index(graph.n_edges),
    )


@settings(max_examples=150)
@given(annotated_graphs())
def test_round_trip(graph: Graph) -> None:
    there = graph.to_networkx()
    assert list(there.nodes) == list(graph.ops)
    back = Graph.from_networkx(there)
    assert_same_up_to_edge_order(graph, back)
    assert_same(back, Graph.from_networkx(back.to_networkx()))


def test_edges_of_one_producer_keep_their_order() -> None:
    edges = [{"src": "a", "dst": dst, "cost": i, "latency": i} for i, dst in enumerate("bbcbc")]
    assert Graph.from_networkx(Graph.build("abc", edges).to_networkx()).cost.tolist() == [0, 1, 3, 2, 4]


def test_properties_come_from_attributes() -> None:
    graph = nx.MultiDiGraph(name="net", origin="bench")
    graph.add_node("m", type="mul", latency="3", occupancy=2.0, weight=4, bits=16, colour="red")
    graph.add_node("a", latency=None)
    graph.add_edge("m", "a", distance=0, latency=5, cost=7, weight=9)
    graph.add_edge("m", "a")
    result = Graph.from_networkx(graph)
    assert (result.name, dict(result.attributes)) == ("net", {"origin": "bench"})
    assert [getattr(result, key)[0] for key in ("latency", "occupancy", "weight", "bits")] == [3, 2, 4, 16]
    assert (result.latency[1], result.types) == (1, ("mul", "op"))
    assert (result.lag.tolist(), result.cost.tolist()) == ([5, 3], [7, 1])
    assert dict(result.op_attributes) == {"colour": {0: "red"}}
    assert dict(result.edge_attributes) == {"weight": {0: 9}}


def test_simple_digraph_with_a_carried_self_loop() -> None:
    graph = nx.DiGraph()
    graph.add_edge("x", "x", distance=2)
    assert Graph.from_networkx(graph).distance.tolist() == [2]
    graph.add_edge("x", "x", distance=0)
    assert "cycle of 1 operations" in message(GraphError, Graph.from_networkx, graph)


def test_nodes_of_any_kind() -> None:
    nodes = [0, "a", (1, 2), frozenset({3}), object()]
    graph = nx.DiGraph((nodes[0], node) for node in nodes[1:])
    result = Graph.from_networkx(graph)
    assert result.ops == tuple(str(node) for node in nodes)
    assert result.successors("0") == result.ops[1:]
    assert asap(result).tolist() == [0, 1, 1, 1, 1]


def test_nodes_with_the_same_text() -> None:
    graph = nx.DiGraph([(1, "1")])
    assert "operation '1' is declared twice" in message(GraphError, Graph.from_networkx, graph)


def test_undirected() -> None:
    for kind in (nx.Graph, nx.MultiGraph):
        assert "undirected" in message(GraphError, Graph.from_networkx, kind([("a", "b")]))


@pytest.mark.parametrize("word", WORDS)
def test_awkward_attribute_names(word: str) -> None:
    graph = nx.MultiDiGraph()
    graph.graph[word] = 5
    graph.add_nodes_from([("a", {word: 1}), ("b", {})])
    graph.add_edges_from([("a", "b", {word: 2})])
    result = Graph.from_networkx(graph, name="g")
    op_key = f"{word}_" if word in ("name", "where") else word
    edge_key = f"{word}_" if word in ("src", "dst", "where") else word
    assert dict(result.op_attributes) == {op_key: {0: 1}}
    assert dict(result.edge_attributes) == {edge_key: {0: 2}}
    assert dict(result.attributes) == ({} if word == "name" else {word: 5})
    assert result.name == "g"
    assert_same(result, Graph.from_networkx(result.to_networkx()))


def test_name() -> None:
    graph = nx.DiGraph(name="own")
    assert Graph.from_networkx(graph).name == "own"
    assert Graph.from_networkx(graph, name="given").name == "given"
    assert Graph.from_networkx(nx.DiGraph()).name == "graph"


def test_reserved_attribute() -> None:
    assert "is reserved" in message(GraphError, Graph.from_networkx, nx.DiGraph(gaus_lab="something"))


def test_operation_names_that_networkx_could_misread() -> None:
    names = ["", "name", "a", "ab", "(1, 2)", "None", "\n", "0"]
    builder = GraphBuilder("odd")
    for name in names:
        builder.add_op(name)
    for u, v in itertools.pairwise(names):
        builder.add_edge(u, v, key="ab")
    graph = builder.build()
    assert_same(graph, Graph.from_networkx(graph.to_networkx()))


@pytest.mark.parametrize(
    ("data", "expected"),
    [({"latency": float("nan")}, "op 0 (a): latency"), ({"type": 3}, "type of op 0 must be text")],
)
def test_bad_attribute_of_a_node(data, expected: str) -> None:
    graph = nx.DiGraph()
    graph.add_node("a", **data)
    assert message(GraphError, Graph.from_networkx, graph).startswith(expected)
