"""DOT: statements, scopes and quoting of the language; labels that name operations."""

from __future__ import annotations

import pytest
from graph_files import content, edges, refused, types

from gaus_lab import files
from gaus_lab.errors import GraphError
from gaus_lab.graph import Graph

pytestmark = pytest.mark.fast


def read(body: str) -> Graph:
    return files.loads(f"digraph g {{ {body} }}", "dot", "f")


def test_properties() -> None:
    graph = read(
        'a [type=mul latency=3, occupancy="2"; weight=0.5][bits=4]; a -> b [distance=1, latency=0, cost=7]'
    )
    assert types(graph) == ["mul", "op"]
    for key, values in {"latency": [3, 1], "occupancy": [2, 1], "weight": [0.5, 1], "bits": [4, 1]}.items():
        assert getattr(graph, key).tolist() == values
    assert (graph.distance.tolist(), graph.edge_latency.tolist(), graph.cost.tolist()) == ([1], [0], [7])
    assert not graph.op_attributes and not graph.edge_attributes


@pytest.mark.parametrize(
    ("attributes", "op_type"),
    [
        ("label=MUL", "mul"), ('label=" add "', "add"), ("label=a", "op"), ('label="two words"', "op"),
        ("label=7", "op"), ('label="7"', "op"),
        ("label=<<b>x</b>>", "op"), ("label=MUL type=ADD", "ADD"), ("op=mul", "mul"),
        ('label="{x|y}"', "op"), ('label="+"', "+"), ("type=7", "7"), ('type=""', "op"),
    ],
)  # fmt: skip
def test_types(attributes: str, op_type: str) -> None:
    assert types(read(f"a [{attributes}]")) == [op_type]


def test_values_of_attributes() -> None:
    graph = read('a [i=7 f=0.50 t=007 v="1.10" e=1e5 n=-3 s="7" flag h=<<i>x</i>> q="a \\"b\\" \\n"]')
    assert {key: of[0] for key, of in graph.op_attributes.items()} == {
        "i": 7, "f": 0.5, "t": "007", "v": "1.10", "s": "7", "e": "1e5", "n": -3, "flag": "true", "h": "<<i>x</i>>",
        "q": 'a "b" \\n',
    }  # fmt: skip


def test_names() -> None:
    assert read('"a b"; _x1; -.5; 12; 3.; é; "it\\"s"; "node"; ""').ops == (
        "a b", "_x1", "-.5", "12", "3.", "é", 'it"s', "node", "",
    )  # fmt: skip
    assert read('"ab\\\ncd"; "x" + "y"\n+ "z"').ops == ("abcd", "xyz")
    assert files.loads("digraph { a }", "dot", "f").name == "f"
    assert files.loads('digraph "my graph" { a }', "dot", "f").name == "my graph"
    assert files.loads("DIGRAPH G { NODE [x=1] a }", "dot").op_attributes == {"x": {0: 1}}


def test_graph_attributes() -> None:
    graph = read('rankdir=LR; graph [size=4 note="x"]; subgraph s { label=inner; graph [y=1]; a }')
    assert dict(graph.attributes) == {"rankdir": "LR", "size": 4, "note": "x"}


def test_chains_and_sets() -> None:
    assert edges(read("a -> b -> c")) == [("a", "b"), ("b", "c")]
    assert edges(read("a -> {b; c} -> d")) == [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    assert edges(read("{a b} -> {c -> d}")) == [("c", "d"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")]
    assert edges(read("subgraph s {a b} c -> subgraph s")) == [("c", "a"), ("c", "b")]
    assert edges(read("a -> {} -> b")) == []
    assert read("a -> {b c} [w=2]").edge_attributes == {"w": {0: 2, 1: 2}}


def test_ports() -> None:
    graph = read("a:x:n -> b:y; a -> b:c")
    assert graph.edge_attributes == {"tailport": {0: "x:n"}, "headport": {0: "y", 1: "c"}}
    assert graph.ops == ("a", "b")


def test_defaults_have_scope() -> None:
    graph = read(
        "node [w=1]; a; subgraph { node [w=2 v=3]; b; a } c; edge [k=1]; a -> b; { edge [k=2] b -> c } c -> d"
    )
    assert graph.op_attributes == {"w": {0: 1, 1: 2, 2: 1, 3: 1}, "v": {1: 3}}
    assert graph.edge_attributes == {"k": {0: 1, 1: 2, 2: 1}}


def test_strict_merges() -> None:
    graph = files.loads("strict digraph { a -> b [x=1 y=1]; a -> b [x=2]; b -> a [distance=1] }", "dot")
    assert edges(graph) == [("a", "b"), ("b", "a")]
    assert graph.edge_attributes == {"x": {0: 2}, "y": {0: 1}}


def test_comments() -> None:
    text = "# line\n/* { */ digraph g { // }\na -> b /* -> c */ -> d\n# }\n[x=1] }\n// end\n/**/"
    assert edges(files.loads(text, "dot")) == [("a", "b"), ("b", "d")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: expected 'digraph', got the end of the file"),
        ("\n\nnode", "3: expected 'digraph', got 'node'"),
        ("digraph g", "1: expected '{', got the end of the file"),
        ("digraph g {\n", "2: expected a node, an edge or '}', got the end of the file"),
        ("digraph {\na ->\n}", "3: expected a node behind '->', got '}'"),
        ("digraph {\na -> ;}", "2: expected a node behind '->', got ';'"),
        ("digraph { -> a }", "1: expected a node, an edge or '}', got '->'"),
        ("digraph { a [x=] }", "1: expected a value, got ']'"),
        ("digraph { a [=1] }", "1: expected an attribute or ']', got '='"),
        ("digraph { a [x=1 }", "1: expected an attribute or ']', got '}'"),
        ("digraph { node a }", "1: expected '[' behind 'node', got 'a'"),
        ("digraph { strict [x=1] }", "1: expected '[' behind 'strict', got '['"),
        ("digraph { a = }", "1: expected a value, got '}'"),
        ("digraph { a: }", "1: expected a port, got '}'"),
        ("digraph { a } }", "1: expected the end of the file behind the graph (one graph a file), got '}'"),
        ("digraph {\n\n$ }", "3: unexpected character '$'"),
        ('digraph {\n"a }\n', "2: the quoted text that begins here does not end"),
        ("digraph {\na [x=<<b> }\n", "2: the HTML text that begins here does not end"),
        ("digraph {\n/* a }\n", "2: the comment that begins here does not end"),
        ('digraph { "a" + b }', "1: '+' must be followed by a quoted text"),
        (
            "graph { a -- b }",
            "1: the graph is undirected ('graph'), dependences have a direction; write 'digraph' and '->'",
        ),
        (
            "digraph {\na -- b }",
            "2: the graph is undirected ('--'), dependences have a direction; write '->'",
        ),
        ("digraph {\na [latency=x] }", "2: op 0 (a): latency must be an integer >= 0, got 'x'"),
        ("digraph {\na;\na [latency=x] }", "2: op 0 (a): latency must be an integer >= 0, got 'x'"),
        (
            "digraph {\na -> b\n[distance=-1] }",
            "3: edge 0 (a -> b): distance must be >= 0, got -1",
        ),
        ("digraph {" + "{" * 2_000, "1: subgraphs nest deeper than 1000 levels; flatten them"),
    ],
)
def test_messages(text: str, message: str) -> None:
    assert refused(text, "dot") == message


def test_lines_count_through_all_that_may_break() -> None:
    text = 'digraph {\n"a\nb" /*\n\n*/ [x=<\n>, y="\\\n"] // c\n# d\n$'
    assert refused(text, "dot").startswith("9: unexpected character '$'")


def many(form: str, count: int = 4_000) -> str:
    return " ".join(form.format(i) for i in range(count))


@pytest.mark.parametrize(
    "body",
    [
        "{" + many("a{}") + "} -> {" + many("b{}") + "}",
        "node [" + many("a{}=1") + "] " + many("b{}"),
        "edge [" + many("a{}=1") + "] " + many("a -> b{};"),
        "subgraph s {" + many("a{}") + "} " + many("subgraph s;"),
        many("a{} ->") + " b [" + many("a{}=1") + "]",
        "{" * 900 + many("a{}", 20_000) + "}" * 900,
    ],
    ids=["edges of sets", "defaults", "defaults of edges", "references", "chain", "nesting"],
)
def test_short_texts_do_not_explode(body: str) -> None:
    message = refused("digraph {" + body + "}", "dot")
    assert message == "1: sets and defaults stand for more than 10000000 edges and attributes; write them out"


def test_text_of_a_graph() -> None:
    graph = Graph.build(
        [
            {"name": 'a "1"', "type": "mul", "weight": 0.5, "note": "x;\ny"},
            {"name": "b", "label": "add", "f": 0.1},
        ],
        [{"src": 'a "1"', "dst": "b", "distance": 1}],
        name="my g",
        limits={"mul": 1},
    )
    text = files.dumps(graph, "dot")
    assert text == (
        'digraph "my g" {\n'
        '  "gaus_lab"="{\\"limits\\": {\\"mul\\": 1}}";\n'
        '  "a \\"1\\"" ["type"="mul", "weight"=0.5, "note"="x;\ny"];\n'
        '  "b" ["label"="add", "f"=0.1, "type"="op"];\n'
        '  "a \\"1\\"" -> "b" ["distance"=1];\n'
        "}\n"
    )
    assert content(files.loads(text, "dot")) == content(graph)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ({"x": None}, "attribute 'x' is None, which DOT cannot express"),
        ({"x": True}, "attribute 'x' is True, which DOT cannot express"),
        ({"x": [1]}, "attribute 'x' is [1], which DOT cannot express"),
        ({"x": float("inf")}, "attribute 'x' is inf, which DOT cannot express"),
        ({"x": 10**400}, "attribute 'x' is an integer of 1329 bits, which DOT cannot express"),
        ({"type": " mul"}, "attribute 'type' is ' mul', which DOT cannot express"),
        ({"x": 'a\\"b'}, "DOT cannot express the text 'a\\\\\"b'"),
        ({"name": "a\\"}, "DOT cannot express the text 'a\\\\'"),
        ({"name": "a\r"}, "DOT cannot express the text 'a\\r'"),
        ({"type": ""}, "an empty type would be lost"),
    ],
)
def test_losses_are_refused(op: dict, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        files.dumps(Graph.build([{"name": "a", **op}], name="g"), "dot")
    assert message in str(caught.value)
