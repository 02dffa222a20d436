"""GML: nested lists of keys and values, read in any layout and written so that nothing is lost."""

from __future__ import annotations

import networkx as nx
import pytest
from graph_files import content, edges, refused, types

from gaus_lab import files
from gaus_lab.errors import GraphError
from gaus_lab.graph import Graph

pytestmark = pytest.mark.fast


def read(body: str) -> Graph:
    return files.loads(f"graph [ directed 1 {body} ]", "gml", "f")


PAIR = 'node [ id 0 label "a" %s ] node [ id 1 label "b" ] edge [ source 0 target 1 %s ]'


def test_properties() -> None:
    graph = read(PAIR % ('type "mul" latency 3 occupancy 2 weight 4 bits 5', "distance 1 latency 0 cost 7"))
    assert types(graph) == ["mul", "op"]
    for key, values in {"latency": [3, 1], "occupancy": [2, 1], "weight": [4, 1], "bits": [5, 1]}.items():
        assert getattr(graph, key).tolist() == values
    assert (graph.distance.tolist(), graph.edge_latency.tolist(), graph.cost.tolist()) == ([1], [0], [7])
    assert not graph.op_attributes and not graph.edge_attributes


def test_attributes() -> None:
    graph = read('author "x" ' + PAIR % ('note "7" name "n" graphics [ x 1.5 ]', "w 2 w 3 where 4"))
    assert dict(graph.attributes) == {"author": "x"}
    assert graph.op_attributes == {"note": {0: 7}, "name_": {0: "n"}, "graphics": {0: {"x": 1.5}}}
    assert graph.edge_attributes == {"w": {0: [2, 3]}, "where_": {0: 4}}


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ("node [ id 7 ] node [ id -1 ]", ("7", "-1")),
        ('node [ id 0 label "a" ] node [ id 1 ]', ("0", "1")),
        ('node [ id 0 label "a" ] node [ id 1 label "a" ]', ("0", "1")),
        ('node [ id 0 label "" ] node [ id 1 label "a" ]', ("0", "1")),
        ("node [ id 0 label 5 ] node [ id 1 label 1.5 ]", ("5", "1.5")),
        ('node [ id "x" ] node [ id "y z" ]', ("x", "y z")),
        ('node [ ID 0 LABEL "a" ] node [ Id 1 Label "b" ]', ("a", "b")),
    ],
)
def test_names(nodes: str, names: tuple[str, ...]) -> None:
    assert read(nodes).ops == names


def test_ids_are_equal_in_quotes() -> None:
    assert edges(read('node [ id "7" ] node [ id 8 ] edge [ source 7 target "8" ]')) == [("7", "8")]


def test_random_workloads() -> None:
    graph = read(
        "node [ id 0 parameter 12 ] node [ id 1 parameter 0 ] node [ id 2 ]"
        " edge [ source 0 target 1 parameter 30 ] edge [ source 0 target 2 parameter 50 ]"
        " edge [ source 1 target 2 parameter 0 ]"
    )
    assert graph.weight.tolist() == [12, 0, 1]
    assert graph.bits.tolist() == [50, 0, 1]
    assert graph.cost.tolist() == [1, 1, 0]
    assert graph.op_attributes["parameter"] == {0: 12, 1: 0}


def test_a_property_comes_before_a_parameter() -> None:
    graph = read(PAIR % ("parameter 12 weight 3 bits 4", "parameter 30 cost 5"))
    assert (graph.weight.tolist(), graph.bits.tolist(), graph.cost.tolist()) == ([3, 1], [4, 1], [5])


def test_layout() -> None:
    assert edges(files.loads("graph[directed 1node[id 0]node[id 1]edge[source 0target 1]]".replace("1n", "1 n")
                             .replace("0t", "0 t"), "gml")) == [("0", "1")]  # fmt: skip
    text = '# graph [\n\nVersion 1\tCreator "]"\ngraph\n[\ndirected 1 label "g # 1"\nnode\n[ id 0 ] # ]\n]\n# end'
    graph = files.loads(text, "gml")
    assert (graph.name, graph.ops) == ("g # 1", ("0",))


def test_entities() -> None:
    text = "&lt;&#228;&#xE4;&quot;&amp;amp; &unknown; &amp &#99999999999; &"
    assert read(f'node [ id 0 label "{text}" ]').ops == ('<ää"&amp; &unknown; &amp &#99999999999; &',)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file must hold one 'graph [ ... ]', got 0"),
        ("graph 5", "the file must hold one 'graph [ ... ]', got 0"),
        ("graph [ directed 1 ] graph [ directed 1 ]", "the file must hold one 'graph [ ... ]', got 2"),
        (
            "\ngraph [ ]",
            "2: the graph is undirected (no 'directed 1'), dependences have a direction; "
            "add 'directed 1' to the graph",
        ),
        (
            "graph [ directed 0 ]",
            "1: the graph is undirected (no 'directed 1'), dependences have a direction; "
            "add 'directed 1' to the graph",
        ),
        ("graph [ directed 1", "the file ends inside the block that begins in line 1; it is cut off"),
        ("graph [ directed", "the file ends inside the block that begins in line 1; it is cut off"),
        ("graph [\ndirected 1 ] ]", "2: expected a key, got ']'"),
        ("graph [\n1 1 ]", "2: expected a key, got '1'"),
        ('graph [\n"a" 1 ]', "2: expected a key, got '\"a\"'"),
        ("graph [ directed ]", "1: expected a value for 'directed', got ']'"),
        ('graph [ directed 1 label "x ]', "1: unexpected '\"x ]'; is a quote missing?"),
    ],
)
def test_syntax(text: str, message: str) -> None:
    assert refused(text, "gml") == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("node 5", "node must be a block '[ ... ]', got 5"),
        ("node [ ]", "1: a node has no id; every node needs one"),
        ("node [ id [ ] ]", "1: a node has no id; every node needs one"),
        ("node [ id 1 ]\nnode [ id 1 ]", "2: node id 1 is declared twice; ids must be unique"),
        ('node [ id 1 ] node [ id "1" ]', "1: node id 1 is declared twice; ids must be unique"),
        (
            "node [ id 1 ]\n\nedge [ source 1 ]",
            "3: target of an edge is None, but no node has that id; declare it",
        ),
        (
            "node [ id 1 ] edge [ source [ ] target 1 parameter 1 ]",
            "1: source of an edge is a block, but no node has that id; declare it",
        ),
        (
            "node [ id 1 latency 1.5 ]",
            "1: op 0 (1): latency must be an integer >= 0, got 1.5",
        ),
        ("node [ id 1 latency -1 ]", "1: op 0 (1): latency must be >= 0, got -1"),
        ("node [ id 1 latency [ ] ]", "1: op 0 (1): latency must be an integer >= 0, got {}"),
        (
            'node [ id 1 label "x" weight "high" ]',
            "1: op 0 (x): weight must be a finite number from 0 to 2**42, got 'high'",
        ),
        (
            'node [ id 1 ] edge [ source 1 target 1 parameter "x" ]',
            "1: parameter of an edge must be a finite number from 0 to 2**42, got 'x'",
        ),
        (
            "node [ id 1 ] edge [ source 1 target 1 distance 0.5 ]",
            "1: edge 0 (1 -> 1): distance must be an integer >= 0, got 0.5",
        ),
    ],
)
def test_messages(body: str, message: str) -> None:
    assert refused(f"graph [ directed 1 {body} ]", "gml") == message


def test_text_of_a_graph() -> None:
    graph = Graph.build(
        [{"name": 'a "1" &', "type": "mul", "latency": 2, "note": "x"}, "b"],
        [{"src": 'a "1" &', "dst": "b", "distance": 1, "cost": 0.5}],
        name="g",
        limits={"mul": 1},
    )
    text = files.dumps(graph, "gml")
    assert text.splitlines() == [
        "graph [",
        "  directed 1",
        "  multigraph 1",
        '  label "g"',
        '  gaus_lab "{&quot;limits&quot;: {&quot;mul&quot;: 1}}"',
        "  node [",
        "    id 0",
        '    label "a &quot;1&quot; &amp;"',
        '    type "mul"',
        "    latency 2",
        '    note "x"',
        "  ]",
        "  node [",
        "    id 1",
        '    label "b"',
        "  ]",
        "  edge [",
        "    source 0",
        "    target 1",
        "    distance 1",
        "    cost 0.5",
        "  ]",
        "]",
    ]
    assert content(files.loads(text, "gml")) == content(graph)
    assert dict(nx.parse_gml(text).nodes) == {'a "1" &': {"type": "mul", "latency": 2, "note": "x"}, "b": {}}


def test_attribute_label_is_not_the_name() -> None:
    graph = Graph.build(
        [{"name": "1", "label": "mul"}, {"name": "2", "label": "add"}], [("1", "2")], name="g"
    )
    again = files.loads(files.dumps(graph, "gml"), "gml")
    assert content(again) == content(graph)


def test_parameters_do_not_come_back_as_properties() -> None:
    graph = read(PAIR % ("parameter 12", "parameter 30")).replace(name="f", weight=1, bits=1, cost=0)
    assert content(files.loads(files.dumps(graph, "gml"), "gml")) == content(graph)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ({"x": True}, "attribute 'x' is True, which GML cannot express"),
        ({"x": None}, "attribute 'x' is None, which GML cannot express"),
        ({"x": "7"}, "attribute 'x' is '7', which GML cannot express"),
        ({"x": [1]}, "attribute 'x' is [1], which GML cannot express"),
        ({"x": [[1, 2], 3]}, "attribute 'x' is [[1, 2], 3], which GML cannot express"),
        ({"x": {1: 2}}, "attribute 'x' is {1: 2}, which GML cannot express"),
        ({"x": float("nan")}, "attribute 'x' is nan, which GML cannot express"),
        ({"x": float("inf")}, "attribute 'x' is inf, which GML cannot express"),
        ({"x": 10**400}, "attribute 'x' is an integer of 1329 bits, which GML cannot express"),
        ({"id": 5}, "attribute 'id' is 5, which GML cannot express"),
        ({"x y": 5}, "GML keys are letters and digits, not 'x y'"),
        ({"x": "\0"}, "a zero byte in"),
        ({"parameter": "high"}, "parameter must be a finite number from 0 to 2**42, got 'high'"),
    ],
)
def test_losses_are_refused(attribute: dict, message: str) -> None:
    graph = Graph.build([{"name": "a", **attribute}], name="g")
    with pytest.raises(GraphError) as caught:
        files.dumps(graph, "gml")
    assert message in str(caught.value)


def test_attributes_with_the_name_of_a_property_are_refused() -> None:
    graph = Graph.build(["a"], name="g").replace(op_attributes={"latency": {0: 2}})
    for format in ("json", "gml", "graphml", "dot"):
        with pytest.raises(GraphError, match="op attribute 'latency' has the name of a property"):
            files.dumps(graph, format)
