"""The project's own format, how a format is chosen, and what no format accepts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from graph_files import content, edges, refused, refused_file, types

from gaus_lab import files
from gaus_lab.errors import GraphError
from gaus_lab.graph import Graph

pytestmark = pytest.mark.fast


def read(**document: object) -> Graph:
    return files.loads(json.dumps({"ops": [], **document}), "json", "f")


def test_whole_document() -> None:
    graph = read(
        format="gaus-lab/graph", version=1, name="n", author="me",
        op_types={"mul": {"latency": 3, "occupancy": 2, "resource": "unit"}},
        ops=[{"name": "a", "type": "mul", "weight": 2, "bits": 0.5, "x": [1]}, {"name": "b", "latency": 0}, "c"],
        edges=[{"src": "a", "dst": "b", "distance": 1, "latency": 2, "cost": 3, "y": None}, {"src": "b", "dst": "c"}],
        limits={"unit": 1},
    )  # fmt: skip
    assert (graph.name, graph.ops, types(graph)) == ("n", ("a", "b", "c"), ["mul", "op", "op"])
    assert (graph.latency.tolist(), graph.occupancy.tolist()) == ([3, 0, 1], [2, 1, 1])
    assert (graph.weight.tolist(), graph.bits.tolist()) == ([2, 1, 1], [0.5, 1, 1])
    assert (edges(graph), graph.distance.tolist()) == ([("a", "b"), ("b", "c")], [1, 0])
    assert (graph.edge_latency.tolist(), graph.cost.tolist()) == ([2, -1], [3, 1])
    assert (dict(graph.limits), graph.resources) == ({"unit": 1}, ("unit", "op"))
    assert dict(graph.attributes) == {"author": "me"}
    assert (graph.op_attributes, graph.edge_attributes) == ({"x": {0: [1]}}, {"y": {0: None}})


def test_shortest_document() -> None:
    graph = files.loads('{"ops": ["a"]}', "json", "f")
    assert (graph.name, graph.ops, graph.n_edges) == ("f", ("a",), 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: not JSON: Expecting value (column 1)"),
        ('{"ops": [],\n x}', "2: not JSON: Expecting property name enclosed in double quotes (column 2)"),
        ("[]", "the file must hold one JSON object, got list"),
        ("{}", "the key 'ops' is missing; a graph file lists its operations there"),
        ('{"ops": [], "ops": []}', "the key 'ops' appears twice in one object; keep one"),
        ('{"ops": [], "x": NaN}', "NaN is no JSON number; give a finite one"),
        ('{"ops": [], "x": -Infinity}', "-Infinity is no JSON number; give a finite one"),
        (
            '{"ops": ["\\ud800"]}',
            "half of a surrogate pair is no text: '{\"ops\": [\"\\ud800\"]}'; correct it",
        ),
        (
            '{"format": "gaus-lab/result", "ops": []}',
            "format must be 'gaus-lab/graph', got 'gaus-lab/result'",
        ),
        ('{"version": 2, "ops": []}', "version must be 1, got 2: a newer gaus_lab reads it"),
        ('{"version": true, "ops": []}', "version must be 1, got True: a newer gaus_lab reads it"),
        ('{"name": 5, "ops": []}', "name must be text, got 5"),
        ('{"ops": {}}', "ops must be a list, got {}"),
        ('{"ops": [], "edges": 1}', "edges must be a list, got 1"),
        ('{"ops": [], "limits": []}', "limits must be an object, got []"),
        ('{"ops": [5]}', "ops[0]: must be an object, got 5"),
        ('{"ops": ["a", {}]}', "ops[1]: the key 'name' is missing"),
        ('{"ops": [{"name": 1}]}', "ops[0].name must be text, got 1"),
        ('{"ops": [{"name": "a", "type": 1}]}', "ops[0]: type of op 0 must be text, got 1"),
        ('{"ops": [{"name": "a", "latency": 1.5}]}', "ops[0]: op 0 (a): latency must be an integer >= 0, got 1.5"),
        ('{"ops": [{"name": "a", "weight": -1}]}', "ops[0]: op 0 (a): weight must be a finite number from 0 to "
         "2**42, got -1"),
        ('{"ops": ["a", "a"]}', "ops[1]: operation 'a' is declared twice; names must be unique"),
        ('{"ops": ["a"], "edges": [{"src": "a"}]}', "edges[0]: the key 'dst' is missing"),
        ('{"ops": ["a"], "edges": [{"src": "a", "dst": "b"}]}', "edges[0]: edge 0 (a -> b): there is no operation "
         "'b'; declare it, or correct the name"),
        ('{"ops": ["a"], "edges": [{"src": "a", "dst": "a", "distance": -1}]}', "edges[0]: edge 0 (a -> a): "
         "distance must be >= 0, got -1"),
        ('{"ops": [], "limits": {"mul": -1}}', "limit of 'mul' must be >= 0, got -1"),
        ('{"ops": [], "op_types": {"mul": {"colour": 1}}}', "op type 'mul' must be an object with keys among "
         "['latency', 'occupancy', 'resource'], got {'colour': 1}"),
    ],
)  # fmt: skip
def test_messages(text: str, message: str) -> None:
    assert refused(text, "json") == message


def test_cycle_is_named() -> None:
    text = '{"ops": ["a", "b"], "edges": [{"src": "a", "dst": "b"}, {"src": "b", "dst": "a"}]}'
    assert "graph 'f' has a cycle of 2 operations whose distances sum to 0: b -> a -> b;" in refused(
        text, "json"
    )


def test_text_of_a_graph() -> None:
    graph = Graph.build(
        [{"name": "ä", "type": "mul"}, "b"],
        [{"src": "ä", "dst": "b", "distance": 1}],
        name="g",
        limits={"mul": 1},
    )
    text = files.dumps(graph, "json")
    assert text == (
        '{\n "format": "gaus-lab/graph",\n "version": 1,\n "name": "g",\n "op_types": {"mul": {}, "op": {}},\n'
        ' "limits": {"mul": 1},\n "ops": [\n  {"name": "ä", "type": "mul"},\n  {"name": "b"}\n ],\n'
        ' "edges": [\n  {"src": "ä", "dst": "b", "distance": 1}\n ]\n}\n'
    )
    assert content(files.loads(text, "json")) == content(graph)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({1, 2}, "it is or holds what JSON lacks: set"),
        (float("nan"), "it is nan"),
        ([{1: 2}], "it is or holds what JSON lacks: list"),
    ],
)
def test_attributes_that_json_lacks(value: object, shown: str) -> None:
    graph = Graph.build([{"name": "a", "x": value}], name="g")
    with pytest.raises(GraphError) as caught:
        files.dumps(graph, "json")
    assert f"graph 'g': op attribute 'x' cannot be written, {shown}" in str(caught.value)


def test_graph_attributes_do_not_replace_the_graph() -> None:
    graph = Graph.build(["a"], name="g").replace(attributes={"ops": []})
    with pytest.raises(GraphError, match="graph attribute 'ops' is a key of the format; rename it"):
        files.dumps(graph, "json")


# ---- which format -----------------------------------------------------------------------------------------


TEXTS = {
    "json": '{"ops": ["a"]}',
    "aiger": "aag 1 1 0 0 0\n2\n",
    "blif": ".model m\n.inputs a\n.end\n",
    "gml": "graph [\n directed 1 node [ id 1 ] ]",
    "graphml": '<?xml version="1.0"?><graphml><graph><node id="a"/></graph></graphml>',
    "dot": "digraph { a }",
    "edgelist": "a,b\n",
}


@pytest.mark.parametrize("format", TEXTS)
def test_suffix_content_and_choice(format: str, tmp_path: Path) -> None:
    for suffix in files.FORMATS[format].suffixes:
        (tmp_path / f"x{suffix.upper()}").write_text(TEXTS[format])
        (tmp_path / f"x{suffix}.gz").write_bytes(gzip.compress(TEXTS[format].encode()))
        for name in (f"x{suffix.upper()}", f"x{suffix}.gz"):
            assert files.read(tmp_path / name).name == ("m" if format == "blif" else "x")
    (tmp_path / "without").write_text(
        "\n" + TEXTS[format] if format not in ("aiger", "graphml") else TEXTS[format]
    )
    if format == "edgelist":
        assert refused_file(tmp_path / "without").startswith(
            "neither the suffix nor the content tells the format"
        )
    else:
        assert files.read(tmp_path / "without").n_ops == 1
    assert files.read(str(tmp_path / "without"), format).n_ops >= 1


def test_unknown_formats(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="f: there is no format 'yaml'; known: json, aiger, blif"):
        files.loads("", "yaml", "f")
    with pytest.raises(GraphError, match="the suffix tells no format; use one of .json, .aig, .aag, .blif"):
        files.write(Graph.build(["a"]), tmp_path / "x.yaml")
    assert not list(tmp_path.iterdir())


def test_write_and_read(tmp_path: Path) -> None:
    graph = Graph.build(["a", "b"], [("a", "b")], name="x")
    for suffix in (".json", ".gml", ".graphml", ".dot", ".csv", ".json.gz", ".dot.GZ"):
        path = tmp_path / f"x{suffix}"
        files.write(graph, path)
        assert content(files.read(path)) == content(graph)
        assert (path.read_bytes()[:2] == b"\x1f\x8b") == suffix.lower().endswith(".gz")
    files.write(graph, tmp_path / "any", "json")
    assert content(files.read(tmp_path / "any", "json")) == content(graph)
    files.write(graph, tmp_path / "other.json.gz")
    assert (tmp_path / "other.json.gz").read_bytes() == (tmp_path / "x.json.gz").read_bytes()


def test_unprintable_names_stay_on_one_line() -> None:
    message = refused('{"ops": ["a\\nb\\u001b[1m", "a\\nb\\u001b[1m"]}', "json")
    assert message == r"ops[1]: operation 'a\nb\x1b[1m' is declared twice; names must be unique"
    assert refused('{"ops": [{"name": "a\\nb", "latency": -1}]}', "json") == (
        r"ops[0]: op 0 (a\nb): latency must be >= 0, got -1"
    )


def test_long_names_are_shortened() -> None:
    message = refused(json.dumps({"ops": [{"name": "n" * 10_000, "latency": -1}]}), "json")
    assert message.startswith("ops[0]: op 0 (nnn") and message.endswith("nnn): latency must be >= 0, got -1")
