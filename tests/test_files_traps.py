"""Small files as loaders meet them in practice: every one loads, or is refused in one line that names it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from graph_files import checked, content, depth, edges, refused_file, types

from gaus_lab import files
from gaus_lab.errors import GraphError
from gaus_lab.graph import Graph


@pytest.fixture
def traps(data_dir: Path) -> Path:
    return data_dir / "traps"


def read(traps: Path, name: str) -> Graph:
    return files.read(traps / name)


def test_every_file_does_what_the_manifest_says(traps: Path) -> None:
    with open(traps / "manifest.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 100
    wrong = []
    for row in rows:
        assert row["expect"] in ("load", "error", "load or clear error")
        path = traps / row["file"]
        try:
            files.read(path)
            outcome = "load"
        except GraphError as error:
            checked(str(error), str(path))
            outcome = "error"
        if outcome not in row["expect"]:
            wrong.append((row["file"], outcome))
    assert wrong == []


def test_the_manifest_lists_every_file(traps: Path) -> None:
    with open(traps / "manifest.csv", encoding="utf-8", newline="") as file:
        listed = {row["file"] for row in csv.DictReader(file)}
    found = {str(p.relative_to(traps)) for p in traps.rglob("*") if p.is_file()}
    assert found - {"manifest.csv"} == listed


@pytest.mark.parametrize(
    ("name", "n_ops", "n_edges", "deep"),
    [
        ("aiger/single_input.aag", 1, 0, 1),
        ("aiger/const_outputs.aag", 4, 0, 1),
        ("aiger/duplicate_outputs.aag", 4, 3, 3),
        ("aiger/toggle_latch.aag", 2, 2, 2),
        ("aiger/binary_latch.aig", 2, 2, 2),
        ("aiger/header_1_9_bcjf.aag", 3, 2, 2),
        ("aiger/comment_no_newline.aag", 2, 1, 2),
        ("aiger/small.aig", 5, 6, 4),
        ("aiger/small_as_ascii.aag", 5, 6, 4),
        ("aiger/small.aig.gz", 3, 2, 2),
        ("aiger/gz_without_suffix.aig", 3, 2, 2),
        ("aiger/multibyte_delta.aig", 102, 4, 3),
        ("aiger/ascii_gaps.aag", 4, 4, 3),
        ("aiger/constant_fanins.aag", 4, 2, 3),
        ("aiger/dangling_and_unused_input.aag", 5, 4, 3),
        ("aiger/crlf_binary.aig", 3, 2, 2),
        ("aiger/bom.aag", 2, 1, 2),
        ("gml/isolated_nodes.gml", 4, 1, 2),
        ("gml/single_node.gml", 1, 0, 1),
        ("gml/one_line.gml", 2, 1, 2),
        ("gml/edge_before_node.gml", 2, 1, 2),
        ("gml/crlf.gml", 2, 1, 2),
        ("gml/bom.gml", 2, 1, 2),
        ("gml/loop_carried_cycle.gml", 2, 2, 2),
        ("dot/html_labels.dot", 2, 1, 2),
        ("dot/case_keywords.dot", 2, 1, 2),
        ("dot/comments.dot", 2, 1, 2),
        ("dot/empty_graph.dot", 0, 0, 0),
        ("graphml/no_edgedefault.graphml", 2, 1, 2),
        ("graphml/edge_before_node.graphml", 2, 1, 2),
        ("graphml/bom_crlf.graphml", 2, 1, 2),
        ("graphml/self_loop_distance.graphml", 1, 1, 1),
        ("blif/latch.blif", 2, 2, 2),
        ("edgelist/plain.txt", 3, 2, 3),
        ("edgelist/bom_crlf.txt", 3, 2, 3),
    ],
)
def test_counts_and_depth(traps: Path, name: str, n_ops: int, n_edges: int, deep: int) -> None:
    graph = read(traps, name)
    assert (graph.n_ops, graph.n_edges, depth(graph)) == (n_ops, n_edges, deep)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("aiger/truncated_ands.aig", "the AND section at byte 17 is cut off: expected 3 ANDs, got 1"),
        (
            "aiger/truncated_outputs.aag",
            "5: the file ends where output 1 of 2 should stand; it is cut off",
        ),
        ("aiger/m_mismatch.aig", "1: binary AIGER needs M = I + L + A, got M 9 and I + L + A = 3"),
        ("aiger/defined_twice.aag", "6: variable 3 (literal 6) is defined twice"),
        (
            "aiger/negative_count.aag",
            "1: header count A must be an integer >= 0 of at most 12 digits, got '-1'",
        ),
        (
            "gml/string_weights.gml",
            "4: op 1 (1): weight must be a finite number from 0 to 2**42, got 'high'",
        ),
        (
            "gml/nan_inf_negative.gml",
            "3: node 0: parameter must be a finite number from 0 to 2**42, got 'NAN'",
        ),
        ("gml/undeclared_endpoint.gml", "4: target of an edge is 5, but no node has that id; declare it"),
        (
            "graphml/entity_bomb.graphml",
            "2: document types and entities are not read; remove the DOCTYPE",
        ),
        ("blif/undriven.blif", "4: signal 'ghost' is used, but nothing drives it"),
        ("blif/double_driver.blif", "6: signal 'f' is driven twice, first in line 4; keep one driver"),
    ],
)
def test_messages(traps: Path, name: str, message: str) -> None:
    assert refused_file(traps / name) == message


@pytest.mark.parametrize(
    ("name", "cycle"),
    [
        ("aiger/ascii_cycle.aag", "v4 -> v3 -> v4"),
        ("aiger/ascii_self_loop.aag", "v2 -> v2"),
        ("gml/cycle.gml", "1 -> 2 -> 0 -> 1"),
        ("dot/cycle.dot", "b -> c -> a -> b"),
        ("dot/quoted_names.dot", "n -> n"),
        ("dot/backward_edge_distance.dot", "b -> a -> b"),
        ("edgelist/cycle.txt", "1 -> 2 -> 0 -> 1"),
    ],
)
def test_a_cycle_is_printed(traps: Path, name: str, cycle: str) -> None:
    assert f"distances sum to 0: {cycle};" in refused_file(traps / name)


# ---- AIGER ------------------------------------------------------------------------------------------------


def test_binary_and_ascii_give_one_graph(traps: Path) -> None:
    binary, ascii_ = (content(read(traps, f"aiger/{n}")) for n in ("small.aig", "small_as_ascii.aag"))
    assert binary | {"name": ""} == ascii_ | {"name": ""}
    assert edges(read(traps, "aiger/small.aig")) == [
        ("v2", "v3"), ("v1", "v3"), ("v3", "v4"), ("v1", "v4"), ("v4", "v5"), ("v2", "v5"),
    ]  # fmt: skip


def test_aiger_names(traps: Path) -> None:
    assert read(traps, "aiger/ascii_gaps.aag").ops == ("v5", "v48", "v20", "v30")
    graph = read(traps, "aiger/symbols_comment.aag")
    assert graph.op_attributes["symbol"] == {0: "data in [0]", 1: "über"}
    assert graph.attributes["output_symbols"] == {"0": "q "}
    assert (graph.n_ops, graph.n_edges) == (3, 2)


def test_aiger_output_nodes(traps: Path) -> None:
    constants = read(traps, "aiger/const_outputs.aag")
    assert (constants.ops, types(constants)) == (("v1", "o0", "o1", "o2"), ["input", *["const"] * 3])
    buffers = read(traps, "aiger/duplicate_outputs.aag")
    assert edges(buffers) == [("v2", "v3"), ("v1", "v3"), ("v3", "o1")]
    assert types(buffers) == ["input", "input", "and", "buf"]


def test_aiger_latches_are_distances(traps: Path) -> None:
    toggle = read(traps, "aiger/toggle_latch.aag")
    assert (edges(toggle), toggle.distance.tolist()) == ([("v1", "o0"), ("v1", "v1")], [0, 1])
    binary = read(traps, "aiger/binary_latch.aig")
    assert (edges(binary), binary.distance.tolist()) == ([("v3", "v3"), ("v1", "v3")], [1, 0])


def test_aiger_sections(traps: Path) -> None:
    attributes = read(traps, "aiger/header_1_9_bcjf.aag").attributes
    assert attributes["bad"] == [6] and attributes["constraints"] == [2]
    assert attributes["justice"] == [[6], [4, 7]] and attributes["fairness"] == [5]


def test_multibyte_deltas(traps: Path) -> None:
    assert edges(read(traps, "aiger/multibyte_delta.aig")) == [
        ("v1", "v101"), ("v1", "v101"), ("v101", "v102"), ("v1", "v102"),
    ]  # fmt: skip


# ---- GML --------------------------------------------------------------------------------------------------


def test_rw_parameters(traps: Path) -> None:
    graph = read(traps, "gml/ok_rw_style.gml")
    assert (graph.weight.tolist(), graph.bits.tolist(), graph.cost.tolist()) == ([12, 0], [45603, 1], [1])
    parallel = read(traps, "gml/parallel_edges.gml")
    assert (edges(parallel), parallel.bits.tolist()) == ([("0", "1"), ("0", "1")], [4, 1])
    assert edges(read(traps, "gml/parallel_edges_unflagged.gml")) == [("0", "1"), ("0", "1")]


def test_gml_names(traps: Path) -> None:
    duplicate = read(traps, "gml/duplicate_labels.gml")
    assert (duplicate.ops, edges(duplicate)) == (("0", "1", "2"), [("0", "2"), ("1", "2")])
    assert duplicate.op_attributes["label"] == {0: "add", 1: "add", 2: "mul"}
    sparse = read(traps, "gml/non_contiguous_ids.gml")
    assert (sparse.ops, edges(sparse)) == (("1000000", "7", "42"), [("7", "1000000"), ("1000000", "42")])
    assert edges(read(traps, "gml/negative_ids.gml")) == [("-1", "-2")]
    permuted = read(traps, "gml/label_differs_from_id.gml")
    assert (permuted.ops, edges(permuted)) == (("2", "0", "1"), [("2", "0"), ("0", "1")])


def test_gml_values(traps: Path) -> None:
    graph = read(traps, "gml/float_weights.gml")
    assert graph.weight.tolist() == [1.5, 2.0, 0.3]
    assert graph.edge_attributes["weight"] == {0: 0.25, 1: 1.0}
    assert read(traps, "gml/loop_carried_cycle.gml").distance.tolist() == [0, 2]
    extras = read(traps, "gml/extras.gml")
    assert extras.ops == ('a "b" ä', "1")
    assert extras.attributes["comment"] == "brackets ] in [ strings"
    assert extras.op_attributes["graphics"] == {0: {"x": 1.0, "y": 2.0, "w": 3}}
    assert extras.edge_attributes["graphics"] == {
        0: {"Line": {"point": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]}}
    }


# ---- DOT --------------------------------------------------------------------------------------------------


def test_express_style(traps: Path) -> None:
    graph = read(traps, "dot/ok_express_style.dot")
    assert (graph.name, graph.ops, types(graph), edges(graph)) == (
        "hal1",
        ("1", "2"),
        ["mul", "sub"],
        [("1", "2")],
    )
    assert graph.edge_attributes["name"] == {0: 16}
    assert types(read(traps, "dot/label_trailing_blank.dot")) == ["lod", "mul"]
    assert types(read(traps, "dot/crlf.dot")) == ["add", "op"]


def test_dot_statements(traps: Path) -> None:
    assert edges(read(traps, "dot/implicit_nodes.dot")) == [("a", "b"), ("b", "c")]
    chain = read(traps, "dot/edge_chain.dot")
    assert edges(chain) == [("a", "b"), ("b", "c"), ("c", "d")]
    assert chain.edge_attributes == {"w": {0: 2, 1: 2, 2: 2}}
    clusters = read(traps, "dot/subgraphs.dot")
    assert (clusters.ops, edges(clusters)) == (("a", "b", "c"), [("a", "c"), ("b", "c")])
    assert clusters.op_attributes == {"w": {0: 3, 1: 3}} and "label" not in clusters.attributes
    assert edges(read(traps, "dot/edge_to_subgraph.dot")) == [("a", "b"), ("a", "c")]
    duplicate = read(traps, "dot/duplicate_edges.dot")
    assert (edges(duplicate), duplicate.edge_attributes) == ([("a", "b")] * 2, {"w": {0: 1, 1: 2}})
    strict = read(traps, "dot/strict_duplicates.dot")
    assert (edges(strict), strict.edge_attributes) == ([("a", "b")], {"w": {0: 2}})
    assert edges(read(traps, "dot/comments.dot")) == [("a", "b")]


def test_dot_names_and_defaults(traps: Path) -> None:
    assert read(traps, "dot/numerals.dot").ops == ("-1", "2.5", ".5", "007", "7")
    assert edges(read(traps, "dot/keyword_as_name.dot")) == [("node", "edge"), ("graph", "node")]
    assert read(traps, "dot/defaults_change.dot").op_attributes == {"w": {0: 1, 1: 2, 2: 2}}
    assert read(traps, "dot/attr_redefined.dot").op_attributes == {"w": {0: 5}}
    html = read(traps, "dot/html_labels.dot")
    assert (html.ops, html.edge_attributes) == (("a", "b"), {"headport": {0: "p"}})


# ---- GraphML, BLIF, edge lists ----------------------------------------------------------------------------


def test_graphml(traps: Path) -> None:
    keys = read(traps, "graphml/ok_keys.graphml")
    assert (keys.op_attributes, keys.edge_attributes) == ({"delay": {0: 3, 1: 1}}, {"w": {0: 0.5}})
    parallel = read(traps, "graphml/parallel_edges_distance.graphml")
    assert (edges(parallel), parallel.distance.tolist()) == ([("1", "2")] * 2, [0, 1])
    assert read(traps, "graphml/self_loop_distance.graphml").distance.tolist() == [1]
    nested = read(traps, "graphml/nested_graph.graphml")
    assert (nested.ops, edges(nested)) == (("a", "a1", "a2", "b"), [("a1", "a2"), ("a", "b")])
    assert "edge 0 (1 -> 9)" in refused_file(traps / "graphml/undeclared_endpoint.graphml")
    assert refused_file(traps / "graphml/missing_root.graphml").startswith("3: not well-formed XML")


def test_blif(traps: Path) -> None:
    continued = read(traps, "blif/continuation.blif")
    assert (continued.ops, edges(continued)) == (("a", "b", "c", "f"), [("a", "f"), ("b", "f"), ("c", "f")])
    constants = read(traps, "blif/constants.blif")
    assert dict(zip(constants.ops, types(constants), strict=True)) == {
        "a": "input", "zero": "const", "one": "const", "none": "const",
    }  # fmt: skip
    latch = read(traps, "blif/latch.blif")
    assert (edges(latch), latch.distance.tolist()) == ([("d", "n"), ("n", "n")], [0, 1])
    unordered = read(traps, "blif/unordered_comments.blif")
    assert edges(unordered) == [("n1", "f"), ("a", "n1"), ("b[0]", "n1")]
    assert edges(read(traps, "blif/no_end_crlf.blif")) == [("a", "f")]


def test_edge_lists(traps: Path) -> None:
    assert read(traps, "edgelist/one_based_gap.txt").ops == ("1", "2", "9")
    assert edges(read(traps, "edgelist/string_ids_leading_zero.txt")) == [("01", "1"), ("1", "002")]
    assert edges(read(traps, "edgelist/bom_crlf.txt")) == [("0", "1"), ("1", "2")]
    header = read(traps, "edgelist/csv_header.csv")
    assert (edges(header), header.edge_latency.tolist()) == ([("a", "b"), ("b", "c")], [1, -1])
