"""AIGER, ASCII and binary: what becomes an operation, and what is refused with which words."""

from __future__ import annotations

import pytest
from graph_files import depth, edges, refused, types

from gaus_lab import files
from gaus_lab.errors import GraphError
from gaus_lab.graph import Graph

pytestmark = pytest.mark.fast


def aag(header: str, *lines: str) -> str:
    return "\n".join([f"aag {header}", *lines, ""])


def read(text: str | bytes) -> Graph:
    return files.loads(text, "aiger", "f")


def code(*deltas: int) -> bytes:
    """Return differences as the binary format stores them."""
    out = bytearray()
    for delta in deltas:
        while delta >= 128:
            out.append(delta % 128 + 128)
            delta //= 128
        out.append(delta)
    return bytes(out)


def test_half_adder() -> None:
    graph = read(aag("7 2 0 2 3", "2", "4", "6", "12", "6 13 15", "12 2 4", "14 3 5"))
    assert graph.ops == ("v1", "v2", "v3", "v6", "v7")
    assert types(graph) == ["input", "input", "and", "and", "and"]
    assert edges(graph) == [
        ("v6", "v3"), ("v7", "v3"), ("v1", "v6"), ("v2", "v6"), ("v1", "v7"), ("v2", "v7"),
    ]  # fmt: skip
    assert depth(graph) == 3
    assert graph.resources == ("op",)
    assert graph.attributes["outputs"] == [6, 12]
    assert {graph.latency.max(), graph.weight.max(), graph.bits.max(), graph.cost.max()} == {1}


@pytest.mark.parametrize("size", [1, 63, 64, 8_191, 8_192, 20_000])
def test_differences_of_one_to_three_bytes(size: int) -> None:
    data = b"aig %d %d 0 1 1\n%d\n" % (size + 2, size + 1, 2 * size + 4) + code(2 * size + 2, 0)
    graph = read(data)
    assert edges(graph) == [("v1", f"v{size + 2}")] * 2
    assert graph.n_ops == size + 2


def test_operations_of_outputs() -> None:
    graph = read(aag("3 2 0 7 1", "2", "4", "6", "7", "6", "0", "1", "2", "3", "6 4 2"))
    assert graph.ops[3:] == ("o2", "o3", "o4", "o5", "o6")
    assert types(graph)[3:] == ["buf", "const", "const", "buf", "buf"]
    assert edges(graph)[2:] == [("v3", "o2"), ("v1", "o5"), ("v1", "o6")]


def test_constant_fan_ins_are_no_producers() -> None:
    graph = read(aag("3 1 0 1 2", "2", "6", "4 0 1", "6 4 2"))
    assert edges(graph) == [("v2", "v3"), ("v1", "v3")]


def test_latches_become_distances() -> None:
    graph = read(aag("6 1 3 1 2", "2", "4 12", "6 4", "8 6", "12", "10 8 2", "12 10 4"))
    assert graph.ops == ("v1", "v5", "v6")
    assert list(zip(edges(graph), graph.distance.tolist(), strict=True)) == [
        (("v6", "v5"), 3), (("v1", "v5"), 0), (("v5", "v6"), 0), (("v6", "v6"), 1),
    ]  # fmt: skip


def test_ring_of_latches_is_one_operation() -> None:
    graph = read(aag("4 1 3 1 0", "2", "6 8", "4 6", "8 4", "4"))
    assert (graph.ops, types(graph)) == (("v1", "v2", "o0"), ["input", "latch", "buf"])
    assert list(zip(edges(graph), graph.distance.tolist(), strict=True)) == [
        (("v2", "o0"), 0), (("v2", "v2"), 3),
    ]  # fmt: skip


def test_latch_behind_a_ring() -> None:
    graph = read(aag("4 1 2 1 1", "2", "4 4", "6 4", "6", "8 6 2"))
    pairs = dict(zip(edges(graph), graph.distance.tolist(), strict=True))
    assert pairs == {("v2", "v4"): 1, ("v1", "v4"): 0, ("v2", "o0"): 1, ("v2", "v2"): 1}


def test_reset_values_are_read() -> None:
    assert read(aag("2 1 1 0 0", "2", "4 2 1")).n_ops == 1
    assert read(b"aig 2 1 1 0 0\n2 4\n").n_ops == 1


def test_latch_of_a_constant() -> None:
    graph = read(aag("1 0 1 1 0", "2 1", "2"))
    assert (graph.ops, types(graph), graph.n_edges) == (("o0",), ["const"], 0)


def test_sections_of_version_1_9() -> None:
    graph = read(aag("3 2 0 0 1 1 1 2 1", "2", "4", "6", "2", "1", "2", "6", "4", "7", "5", "6 4 2"))
    assert {key: graph.attributes[key] for key in ("bad", "constraints", "justice", "fairness")} == {
        "bad": [6], "constraints": [2], "justice": [[6], [4, 7]], "fairness": [5],
    }  # fmt: skip
    assert read(aag("1 1 0 0 0 1", "2", "2")).attributes["bad"] == [2]


def test_symbols() -> None:
    text = aag(
        "3 2 0 2 1", "4", "2", "6", "2", "6 4 2", "i0 enable me", "i1 däta", "o0 y ", "o1 z", "c", "i0 not"
    )
    graph = read(text)
    assert graph.op_attributes["symbol"] == {0: "enable me", 1: "däta", 3: "z"}
    assert graph.attributes["output_symbols"] == {"0": "y ", "1": "z"}
    assert read(aag("1 1 0 0 0", "2", "i0")).op_attributes["symbol"] == {0: ""}


def test_file_may_end_anywhere_behind_the_gates() -> None:
    for end in ("", "\n", "\ni0 a", "\nc", "\nc\n", "\nc\nany\x00thing"):
        assert read("aag 1 1 0 0 0\n2" + end).n_ops == 1


def test_empty_circuit() -> None:
    graph = read("aag 0 0 0 0 0\n")
    assert (graph.n_ops, graph.n_edges, graph.types) == (0, 0, ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: the file ends where the header should stand; it is cut off"),
        ("\n", "1: an AIGER file begins with 'aig' or 'aag', got ''"),
        ("aag 1 1 0 0", "1: the header needs 5 to 9 counts (M I L O A B C J F), got 4"),
        ("aag 1 1 0 0 0 0 0 0 0 0", "1: the header needs 5 to 9 counts (M I L O A B C J F), got 10"),
        ("aag 1 x 0 0 0", "1: header count I must be an integer >= 0 of at most 12 digits, got 'x'"),
        ("aag 1 ² 0 0 0", "1: header count I must be an integer >= 0 of at most 12 digits, got '²'"),
        ("aag 1 1_0 0 0 0", "1: header count I must be an integer >= 0 of at most 12 digits, got '1_0'"),
        (
            "aag 1 1 0 0 1000000000000",
            "1: header count A must be an integer >= 0 of at most 12 digits, got '1000000000000'",
        ),
        ("aig 3 1 1 0 0\n", "1: binary AIGER needs M = I + L + A, got M 3 and I + L + A = 2"),
        (
            "aag 1 0 0 1000000000 0\n",
            "1: the header promises at least 2000000000 bytes of sections, the file has 23; it is cut off",
        ),
        (
            "aig 1000000000 1000000000 0 0 0\n",
            "1: 1000000000 inputs in a file of 32 bytes; the header is damaged",
        ),
        (aag("2 2 0 0 0", "2", "4 6"), "3: input 1 of 2 needs 1 numbers, got 4 6"),
        (aag("1 1 0 0 0", "x"), "2: input must be an integer >= 0 of at most 12 digits, got 'x'"),
        (aag("1 1 0 1 0", "2", "4"), "3: output 0 of 1 is 4, must be <= 3, twice M of the header and 1"),
        (aag("2 1 0 0 1", "2", "3 2 2"), "3: literal 3 cannot be defined: it is odd, an inverted signal"),
        (aag("2 1 0 0 1", "2", "0 2 2"), "3: literal 0 cannot be defined: it is a constant"),
        (aag("2 1 0 0 1", "2", "2 2 2"), "3: variable 1 (literal 2) is defined twice"),
        (aag("2 1 1 0 0", "2", "2 2"), "3: variable 1 (literal 2) is defined twice"),
        (aag("2 1 0 1 0", "2", "5"), "variable 2 (literal 5) is used, but no input, latch or AND defines it"),
        (aag("2 1 0 0 0 1", "2", "4"), "variable 2 (literal 4) is used, but no input, latch or AND defines it"),
        (aag("0 0 0 0 0 0 0 1", "2"), "3: the file ends where justice 0 of 2 should stand; it is cut off"),
        (
            aag("1 1 0 0 0", "2", "x0 name"),
            "3: expected a symbol such as 'i0 name' or the comment mark 'c', got 'x0 name'",
        ),
        (
            aag("1 1 0 0 0", "2", "", "i0 name"),
            "3: expected a symbol such as 'i0 name' or the comment mark 'c', got ''",
        ),
        (b"aig 2 1 0 0 1\n\x00\x00", "AND 0 (literal 4) at byte 14 has fan-ins 4 and 4; they must be smaller than "
         "its own literal, and >= 0"),
        (b"aig 2 1 0 0 1\n\x05\x00", "AND 0 (literal 4) at byte 14 has fan-ins -1 and -1; they must be smaller than "
         "its own literal, and >= 0"),
        (b"aig 2 1 0 0 1\n\x82\x80\x80\x80\x80\x80\x00\x00", "a number of 7 bytes at byte 14; the file is damaged"),
        (b"aig 2 1 0 0 1\n\x02\x80", "the AND section at byte 14 is cut off: expected 1 ANDs, got 0"),
    ],
)  # fmt: skip
def test_messages(text: str | bytes, message: str) -> None:
    assert refused(text, "aiger") == message


def test_cycle_is_named() -> None:
    message = refused(aag("3 1 0 1 2", "2", "4", "4 6 2", "6 4 2"), "aiger")
    assert message.startswith(
        "graph 'f' has a cycle of 2 operations whose distances sum to 0: v3 -> v2 -> v3;"
    )


def test_aiger_is_read_only() -> None:
    with pytest.raises(
        GraphError, match="graph 'g' cannot be written as AIGER, which is read only; write JSON"
    ):
        files.dumps(Graph.build(["a"], name="g"), "aiger")
