"""Edge lists: two names and a latency a line, with any of the usual separators."""

from __future__ import annotations

import pytest
from graph_files import content, edges, refused

from gaus_lab import files
from gaus_lab.errors import GraphError
from gaus_lab.graph import Graph

pytestmark = pytest.mark.fast


def read(text: str) -> Graph:
    return files.loads(text, "edgelist", "f")


@pytest.mark.parametrize("mark", [" ", "\t", ",", ";", "   ", ", ", " ; "])
def test_separators(mark: str) -> None:
    graph = read(f"a{mark}b{mark}2\nb{mark}c\n")
    assert (graph.name, edges(graph), graph.edge_latency.tolist()) == ("f", [("a", "b"), ("b", "c")], [2, -1])


def test_comments_and_blank_lines() -> None:
    graph = read("# a b\n\n  # c\na#1 b\n   \nb #x\n")
    assert edges(graph) == [("a#1", "b"), ("b", "#x")]


@pytest.mark.parametrize(
    "header", ["src,dst", "Source,Target,Weight", "u,v,w", "from,to", "producer,consumer,latency"]
)
def test_headers(header: str) -> None:
    assert edges(read(f"{header}\na,b\n")) == [("a", "b")]


def test_names_that_look_like_a_header() -> None:
    assert edges(read("u v 2\nv w\n")) == [("u", "v"), ("v", "w")]
    assert edges(read("a b\nsrc dst\n")) == [("a", "b"), ("src", "dst")]


def test_ids_are_text() -> None:
    assert read("01 1\n1 001\n").ops == ("01", "1", "001")


def test_quoted_names() -> None:
    assert edges(read('"a,b","c ""d"""\n')) == [("a,b", 'c "d"')]


def test_operations_without_edges() -> None:
    graph = read("a,b\nlonely,\na,\n")
    assert (graph.ops, graph.n_edges) == (("a", "b", "lonely"), 1)


def test_parallel_edges() -> None:
    graph = read("a b 1\na b 2\n")
    assert (edges(graph), graph.edge_latency.tolist()) == ([("a", "b")] * 2, [1, 2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file holds no edge; write one 'producer consumer' a line"),
        ("# only\n\n", "the file holds no edge; write one 'producer consumer' a line"),
        ("src,dst\n", "the file holds no edge; write one 'producer consumer' a line"),
        ("a b\nc\n", "2: an edge needs 'producer consumer' and optionally a latency, got: c"),
        ("a b\n\na b 1 2\n", "3: an edge needs 'producer consumer' and optionally a latency, got: a b 1 2"),
        ("a,b\n,b\n", "2: an edge needs 'producer consumer' and optionally a latency, got: b"),
        ("a,,3\n", "1: an edge needs 'producer consumer' and optionally a latency, got: a 3"),
        ("a b x\n", "1: edge 0 (a -> b): latency must be an integer >= 0, got 'x'"),
        ("a b -1\n", "1: edge 0 (a -> b): latency must be >= 0, got -1"),
        ("a b 0.5\n", "1: edge 0 (a -> b): latency must be an integer >= 0, got '0.5'"),
        ('a,b\n"a,b\n', "2: not a row of values: unexpected end of data"),
        ('a,"b"c\n', "1: not a row of values: ',' expected after '\"'"),
    ],
)
def test_messages(text: str, message: str) -> None:
    assert refused(text, "edgelist") == message


def test_text_of_a_graph() -> None:
    graph = Graph.build(
        ["a", 'b,"c"'], [{"src": "a", "dst": 'b,"c"', "latency": 2}, ("a", 'b,"c"')], name="f"
    )
    text = files.dumps(graph, "edgelist")
    assert text == 'src,dst,latency\na,"b,""c""",2\na,"b,""c""",\n'
    assert content(read(text)) == content(graph)


def test_order_and_lonely_operations_are_kept() -> None:
    graph = Graph.build(["b", "lonely", "a"], [("a", "b")], name="f")
    text = files.dumps(graph, "edgelist")
    assert text == "src,dst,latency\nb,\nlonely,\na,\na,b,\n"
    assert content(read(text)) == content(graph)


@pytest.mark.parametrize(
    ("op", "edge", "message"),
    [
        ({"type": "mul"}, {}, "its types would be lost"),
        ({"weight": 2}, {}, "its weight would be lost"),
        ({"latency": 0}, {}, "its latency would be lost"),
        ({"note": 1}, {}, "its op attribute 'note' would be lost"),
        ({}, {"distance": 1}, "its distance would be lost"),
        ({}, {"note": 1}, "its edge attribute 'note' would be lost"),
        ({"name": " a"}, {}, "operation name ' a' cannot stand in an edge list"),
        ({"name": "#a"}, {}, "operation name '#a' cannot stand in an edge list"),
        ({"name": "a\rb"}, {}, "operation name 'a\\rb' cannot stand in an edge list"),
        ({"name": ""}, {}, "operation name '' cannot stand in an edge list"),
    ],
)
def test_losses_are_refused(op: dict, edge: dict, message: str) -> None:
    name = op.get("name", "a")
    graph = Graph.build([{"name": name, **op}, "b"], [{"src": name, "dst": "b", **edge}], name="g")
    with pytest.raises(GraphError) as caught:
        files.dumps(graph, "edgelist")
    assert message in str(caught.value)


def test_what_a_graph_says_as_a_whole_is_refused() -> None:
    one = Graph.build(["a"], name="g")
    shared = Graph.build(["a"], op_types={"op": {"resource": "unit"}}, name="g")
    for graph, message in [
        (Graph.build([], name="g"), "graph 'g' is empty; an edge list cannot say that"),
        (one.replace(limits={"op": 1}), "its limits would be lost"),
        (one.replace(attributes={"x": 1}), "its graph attribute 'x' would be lost"),
        (shared, "its types would be lost"),
    ]:
        with pytest.raises(GraphError, match=message):
            files.dumps(graph, "edgelist")
