"""GraphML: keys by name, defaults, nested graphs; document types and entities are refused."""

from __future__ import annotations

import networkx as nx
import pytest
from graph_files import content, edges, refused, types

from gaus_lab import files
from gaus_lab.errors import GraphError
from gaus_lab.graph import Graph

pytestmark = pytest.mark.fast

HEAD = '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


def xml(body: str, keys: str = "", graph: str = 'edgedefault="directed"') -> str:
    return f"{HEAD}{keys}<graph {graph}>{body}</graph></graphml>"


def read(body: str, keys: str = "", graph: str = 'edgedefault="directed"') -> Graph:
    return files.loads(xml(body, keys, graph), "graphml", "f")


def key(name: str, domain: str, kind: str, default: str = "") -> str:
    inner = f"<default>{default}</default>" if default else ""
    return f'<key id="{name[0]}" for="{domain}" attr.name="{name}" attr.type="{kind}">{inner}</key>'


NODE = '<node id="a"><data key="%s">%s</data></node>'


def test_properties() -> None:
    keys = key("latency", "all", "int") + key("type", "node", "string") + key("distance", "edge", "int")
    graph = read(
        '<node id="a"><data key="l">3</data><data key="t">mul</data></node><node id="b"/>'
        '<edge source="a" target="b"><data key="d"> 1 </data><data key="l">0</data></edge>',
        keys,
    )
    assert (graph.name, types(graph), graph.latency.tolist()) == ("f", ["mul", "op"], [3, 1])
    assert (graph.distance.tolist(), graph.edge_latency.tolist()) == ([1], [0])


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int", "7", 7), ("long", " 7 ", 7), ("double", "0.50", 0.5), ("float", "7", 7), ("string", " 7 ", " 7 "),
        ("boolean", "true", True), ("boolean", "0", False), ("", "7", 7), ("", "x ", "x"), ("int", "007", "007"),
    ],
)  # fmt: skip
def test_values(kind: str, text: str, value: object) -> None:
    found = read(NODE % ("x", text), key("x", "node", kind)).op_attributes["x"][0]
    assert (found, type(found)) == (value, type(value))


def test_defaults() -> None:
    keys = key("w", "node", "int", "2") + key("v", "edge", "int", "3") + key("latency", "all", "int", "4")
    graph = read(
        '<node id="a"><data key="w">9</data></node><node id="b"/><edge source="a" target="b"/>', keys
    )
    assert graph.op_attributes == {"w": {0: 9, 1: 2}}
    assert graph.edge_attributes == {"v": {0: 3}}
    assert (graph.latency.tolist(), graph.edge_latency.tolist()) == ([4, 4], [4])


def test_name_of_the_graph() -> None:
    assert read("", graph='id="G"').name == "G"
    assert read('<data key="n">mine</data>', key("name", "graph", "string"), 'id="G"').name == "mine"


def test_parts_that_say_nothing() -> None:
    body = "<desc>text</desc><!-- <node id='x'/> --><node id='a'><port name='p'/></node><![CDATA[<node/>]]>"
    assert read(body).ops == ("a",)


def test_text_in_pieces() -> None:
    assert read(NODE % ("x", "a&amp;b<![CDATA[<c>]]>&#228;")).op_attributes["x"] == {0: "a&b<c>ä"}


def test_nested_graphs_are_flattened() -> None:
    graph = read(
        '<node id="a"><graph><node id="b"/><edge source="b" target="c"/></graph></node><node id="c"/>'
    )
    assert (graph.ops, edges(graph)) == (("a", "b", "c"), [("b", "c")])


def test_encodings() -> None:
    text = xml('<node id="ä"/>').replace('"1.0"', '"1.0" encoding="%s"')
    for encoding in ("utf-8", "utf-16", "iso-8859-1", "cp1252"):
        assert files.loads((text % encoding).encode(encoding), "graphml").ops == ("ä",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<graphml/>", "the file holds no <graph> element"),
        ("<graphml>\n<graph>\n", "3: not well-formed XML: no element found; mend the file"),
        ("<graphml></graph>", "1: not well-formed XML: mismatched tag; mend the file"),
        ("x", "1: not well-formed XML: syntax error; mend the file"),
        (
            "\n<!DOCTYPE graphml>\n<graphml/>",
            "2: document types and entities are not read; remove the DOCTYPE",
        ),
        (
            '<!DOCTYPE g SYSTEM "http://example.org/g.dtd"><g/>',
            "1: document types and entities are not read; remove the DOCTYPE",
        ),
        (
            '<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/hostname">]><g>&x;</g>',
            "1: document types and entities are not read; remove the DOCTYPE",
        ),
        (xml("&x;"), "1: not well-formed XML: undefined entity; mend the file"),
        (
            xml("", graph='edgedefault="undirected"'),
            '1: the graph is undirected (edgedefault), dependences have a direction; set edgedefault="directed"',
        ),
        (
            xml('<edge source="a" target="a" directed="false"/>'),
            '1: the graph is undirected (edge), dependences have a direction; set edgedefault="directed"',
        ),
        (xml("<hyperedge/>"), "1: hyperedges are not read; write one edge for each pair"),
        (xml("\n<node/>"), "2: a <node> has no id"),
        (xml('\n<edge source="a"/>'), "2: an <edge> needs source and target"),
        (xml('<node id="a"/><node id="a"/>'), "1: operation 'a' is declared twice; names must be unique"),
        (xml(NODE.replace('key="%s"', "") % "1"), "1: a <data> has no key"),
        (xml("", "<key/>"), "1: a <key> has no id"),
        (f"{HEAD}<graph/>\n<graph/></graphml>", "2: a second <graph>; one graph a file"),
        (
            xml(NODE % ("latency", "x")),
            "1: op 0 (a): latency must be an integer >= 0, got 'x'",
        ),
        (
            '<?xml version="1.0" encoding="no-such"?><graphml/>',
            "1: the encoding cannot be read: unknown encoding: no-such; save the file as UTF-8",
        ),
    ],
)
def test_messages(text: str, message: str) -> None:
    assert refused(text, "graphml") == message


def test_nothing_outside_is_read(tmp_path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden words")
    for declaration in (f'<!ENTITY x SYSTEM "{secret.as_uri()}">', f'<!ENTITY % x SYSTEM "{secret}"> %x;'):
        assert "hidden" not in refused(f"<!DOCTYPE g [{declaration}]><g>&x;</g>", "graphml")


def test_defaults_do_not_explode() -> None:
    keys = "".join(f'<key id="k{i}" for="node"><default>1</default></key>' for i in range(4_000))
    nodes = "".join(f'<node id="{i}"/>' for i in range(4_000))
    message = refused(xml(nodes, keys), "graphml")
    assert message.startswith("the defaults of 4000 keys stand for more than 10000000 values")


def test_text_of_a_graph() -> None:
    graph = Graph.build(
        [{"name": "<a>", "latency": 2, "flag": True, "text": "\r\n& "}, "b"],
        [{"src": "<a>", "dst": "b", "cost": 0.5}],
        name="g",
    )
    text = files.dumps(graph, "graphml")
    assert content(files.loads(text, "graphml")) == content(graph)
    assert nx.parse_graphml(text).nodes["<a>"] == {"latency": 2, "flag": True, "text": "\r\n& "}


def test_graph_attributes_of_any_form_are_kept() -> None:
    attributes = {"name": "other", "list": [1, {"a": None}], "flag": True, "gaus_lab": "{}", "x": "7"}
    graph = Graph.build(["a"], name="g").replace(attributes=attributes)
    for format in ("graphml", "gml", "dot", "json"):
        if format == "json":
            graph = graph.replace(attributes={key: v for key, v in attributes.items() if key != "name"})
        assert content(files.loads(files.dumps(graph, format), format)) == content(graph)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ({"x": None}, "attribute 'x' is None, which GraphML cannot express"),
        ({"x": [1, 2]}, "attribute 'x' is [1, 2], which GraphML cannot express"),
        ({"x": float("nan")}, "attribute 'x' is nan, which GraphML cannot express"),
        ({"x": "\x01"}, "attribute 'x' is '\\x01', which GraphML cannot express"),
        ({"\x01": 1}, "attribute '\\x01' is 1, which GraphML cannot express"),
        ({"type": "\ufffe"}, "attribute 'type' is '\\ufffe', which GraphML cannot express"),
    ],
)
def test_losses_are_refused(attribute: dict, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        files.dumps(Graph.build([{"name": "a", **attribute}], name="g"), "graphml")
    assert message in str(caught.value)


def test_names_that_xml_forbids() -> None:
    for graph in (Graph.build(["a\x02"], name="g"), Graph.build(["a"], name="\x02")):
        with pytest.raises(GraphError, match="has characters that XML forbids; write JSON"):
            files.dumps(graph, "graphml")
