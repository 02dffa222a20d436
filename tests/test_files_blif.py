"""BLIF: tables and inputs are operations, latches are distances."""

from __future__ import annotations

import pytest
from graph_files import depth, edges, refused, types

from gaus_lab import files
from gaus_lab.errors import GausLabWarning, GraphError
from gaus_lab.graph import Graph

pytestmark = pytest.mark.fast


def read(*lines: str) -> Graph:
    return files.loads("\n".join(lines) + "\n", "blif", "f")


def test_tables_and_inputs() -> None:
    graph = read(
        ".model m",
        ".inputs a b",
        ".outputs y",
        ".names a b y",
        "1- 1",
        "-1 1",
        ".names k",
        "1",
        ".end",
        "junk",
    )
    assert (graph.name, graph.ops) == ("m", ("a", "b", "y", "k"))
    assert types(graph) == ["input", "input", "logic", "const"]
    assert (edges(graph), depth(graph)) == ([("a", "y"), ("b", "y")], 2)
    assert (graph.resources, graph.attributes) == (("op",), {"outputs": ["y"]})


def test_the_same_signal_twice() -> None:
    assert edges(read(".model m", ".inputs a", ".names a a y", "11 1")) == [("a", "y")] * 2


def test_layout() -> None:
    graph = read(
        "# first", ".inputs a \\", "  b # both", "", ".names a \\", "b \\", "y", "11 1", ".outputs \\", " y"
    )
    assert (graph.name, edges(graph)) == ("f", [("a", "y"), ("b", "y")])


def test_latches() -> None:
    graph = read(
        ".model m", ".inputs d", ".latch n q re clk 0", ".latch q r 2", ".names d r n", "11 1", ".outputs r"
    )
    assert list(zip(edges(graph), graph.distance.tolist(), strict=True)) == [(("d", "n"), 0), (("n", "n"), 2)]


def test_ring_of_latches() -> None:
    graph = read(".model m", ".latch a b", ".latch b a", ".names b y", "1 1", ".outputs y")
    assert (graph.ops, types(graph)) == (("y", "b"), ["logic", "latch"])
    assert list(zip(edges(graph), graph.distance.tolist(), strict=True)) == [(("b", "b"), 2), (("b", "y"), 0)]


def test_directives_without_meaning_are_warned_of_once() -> None:
    lines = [".model m", ".clock c", ".clock d", ".wire_load_slope 0.0", ".inputs a", ".exdc", ".inputs a"]
    with pytest.warns(GausLabWarning) as caught:
        assert read(*lines).ops == ("a",)
    assert [str(w.message) for w in caught] == [
        "f:2: directive .clock is ignored", "f:4: directive .wire_load_slope is ignored",
    ]  # fmt: skip
    assert caught[0].filename == __file__  # the line that reads the file


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([""], "the file holds no BLIF model"),
        (["11 1"], "1: expected a directive that begins with '.', got: 11 1"),
        ([".model m", "1 1"], "2: expected a directive that begins with '.', got: 1 1"),
        ([".model m", ".names"], "2: .names needs at least the signal that it drives"),
        ([".model m", ".inputs a a"], "2: signal 'a' is driven twice, first in line 2; keep one driver"),
        (
            [".model m", ".inputs a", ".latch x a 0"],
            "3: signal 'a' is driven twice, first in line 2; keep one driver",
        ),
        ([".model m", ".names a y", "1 1"], "2: signal 'a' is used, but nothing drives it"),
        ([".model m", ".outputs y"], "2: signal 'y' is used, but nothing drives it"),
        ([".model m", ".latch a b"], "2: signal 'a' is used, but nothing drives it"),
        ([".model m", ".latch a"], "2: .latch needs 'input output [type control] [init]', got 1 words"),
        ([".model m", ".model n"], "2: a second .model; hierarchy is not read, flatten the design first"),
        (
            [".model m", ".gate inv a=x O=y"],
            "2: .gate is not read: flatten the design to .names first (e.g. with ABC)",
        ),
        (
            [".model m", ".inputs a", ".names a y", "11 1"],
            "4: a row of this table has 1 of 0, 1, - and an output 0 or 1, got: 11 1",
        ),
        (
            [".model m", ".inputs a", ".names a y", "1 -"],
            "4: a row of this table has 1 of 0, 1, - and an output 0 or 1, got: 1 -",
        ),
        (
            [".model m", ".inputs a", ".names a y", "2 1"],
            "4: a row of this table has 1 of 0, 1, - and an output 0 or 1, got: 2 1",
        ),
        (
            [".model m", ".names y", "1 1"],
            "3: a row of this table has 0 of 0, 1, - and an output 0 or 1, got: 1 1",
        ),
    ],
)
def test_messages(lines: list[str], message: str) -> None:
    assert refused("\n".join(lines), "blif") == message


def test_cycle_is_named() -> None:
    message = refused(".model m\n.names b a\n1 1\n.names a b\n1 1\n", "blif")
    assert "graph 'm' has a cycle of 2 operations whose distances sum to 0: b -> a -> b;" in message


def test_text_of_a_graph() -> None:
    graph = read(
        ".model m", ".inputs a b", ".outputs y a", ".names a b y", "11 1", ".names k", ".names y z", "1 1"
    )
    text = files.dumps(graph, "blif")
    assert text.splitlines() == [
        ".model m", ".outputs y a", ".inputs a b", ".names a b y", "11 1", ".names k", ".names y z", "1 1", ".end",
    ]  # fmt: skip
    again = files.loads(text, "blif")
    assert (again.ops, types(again), edges(again)) == (graph.ops, types(graph), edges(graph))
    assert dict(again.attributes) == {"outputs": ["y", "a"]}


def test_aiger_becomes_tables() -> None:
    graph = files.loads("aag 3 2 0 3 1\n2\n4\n6\n6\n0\n6 4 2\ni0 x\no0 y\n", "aiger", "f")
    again = files.loads(files.dumps(graph, "blif"), "blif")
    assert (again.ops, edges(again)) == (graph.ops, edges(graph))
    assert types(again) == ["input", "input", "logic", "logic", "const"]


@pytest.mark.parametrize(
    ("ops", "edge", "message"),
    [
        (["a", "b"], {"distance": 1}, "its distance would be lost"),
        (["a", "b"], {"latency": 2}, "its edge latency would be lost"),
        (["a", "b"], {"cost": 2}, "its cost would be lost"),
        (["a", "b"], {"colour": "red"}, "its edge attribute 'colour' would be lost"),
        ([{"name": "a", "latency": 2}, "b"], {}, "its latency would be lost"),
        ([{"name": "a", "bits": 2}, "b"], {}, "its bits would be lost"),
        ([{"name": "a", "note": "x"}, "b"], {}, "its op attribute 'note' would be lost"),
        (["a", {"name": "b", "type": "mul"}], {}, "all operations share the resource 'op'; got op, mul"),
        (["a", "b c"], {}, "name 'b c' cannot stand in a BLIF file"),
        (["a", ".b"], {}, "name '.b' cannot stand in a BLIF file"),
        (["a", "b#"], {}, "name 'b#' cannot stand in a BLIF file"),
    ],
)
def test_losses_are_refused(ops: list, edge: dict, message: str) -> None:
    last = ops[1] if isinstance(ops[1], str) else ops[1]["name"]
    graph = Graph.build(ops, [{"src": "a", "dst": last, **edge}], name="g")
    with pytest.raises(GraphError) as caught:
        files.dumps(graph, "blif")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("op_type", "has_operand"), [("mul", True), ("input", True), ("const", True), ("logic", False)]
)
def test_types_that_a_table_does_not_have(op_type: str, has_operand: bool) -> None:
    types = {op_type: {"resource": "op"}}
    edge = [("a", "b")] if has_operand else []
    graph = Graph.build(["a", {"name": "b", "type": op_type}], edge, op_types=types)
    with pytest.raises(GraphError, match=rf"op 1 \(b\) with {len(edge)} operands has type '{op_type}'"):
        files.dumps(graph, "blif")


def test_limits_and_attributes_are_refused() -> None:
    with pytest.raises(GraphError, match="its limits would be lost"):
        files.dumps(Graph.build(["a"], limits={"op": 1}), "blif")
    with pytest.raises(GraphError, match="its graph attribute 'author' would be lost"):
        files.dumps(Graph.build(["a"]).replace(attributes={"author": "x"}), "blif")
