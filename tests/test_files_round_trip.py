"""What a format can express survives writing and reading; what it cannot is refused by name, never dropped."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from graph_files import content, edges, types
from hypothesis import given, settings
from hypothesis import strategies as st

from gaus_lab import files
from gaus_lab.errors import GraphError
from gaus_lab.graph import Graph

KEPT_BY_ALL = settings(deadline=None, max_examples=80, derandomize=True)

plain_text = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=6)
tricky_text = st.sampled_from(
    ["7", "007", "-1", "0.5", "1e5", "1.10", "true", "nan", "[", "]", '"', "\\", '\\"', "&amp;", "&#10;", "<b>", "a b",
     " a", "#", ",", ";", "->", "\n", "\r", "\t", "\0", "\x01", "\x85", "\u2028", "\ufffe", "ä", "node", "label", ""]
)  # fmt: skip
texts = plain_text | tricky_text | st.builds("".join, st.lists(tricky_text, max_size=3))
names = texts.filter(bool)
numbers = st.integers(-(2**70), 2**70) | st.floats()
scalars = numbers | texts | st.booleans() | st.none()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
keys = st.sampled_from([
    "label", "label_", "name_", "op", "parameter", "note", "w", "id", "Label", "x y", "port", "self", "gaus_lab",
])  # fmt: skip
small = st.integers(0, 3)
amounts = small | st.floats(0, 2**20)


@st.composite
def graphs(draw: st.DrawFn, attributes: st.SearchStrategy[Any] = values) -> Graph:
    """Draw a graph with any of the properties and attributes; edges go forward or carry a distance."""
    ops = draw(st.lists(names, max_size=5, unique=True))
    op_records = [
        {"name": name} | draw(st.dictionaries(keys, attributes, max_size=2)) | draw(properties(amounts))
        for name in ops
    ]
    edge_records = []
    for _ in range(draw(st.integers(0, 5 if ops else 0))):
        i, j = (draw(st.integers(0, len(ops) - 1)) for _ in range(2))
        edge = draw(st.dictionaries(keys, attributes, max_size=2)) | {"src": ops[i], "dst": ops[j]}
        edge["distance"] = draw(st.integers(0 if i < j else 1, 2))
        edge |= draw(st.fixed_dictionaries({}, optional={"latency": small, "cost": amounts}))
        edge_records.append(edge)
    limits = draw(st.dictionaries(names, small, max_size=1))
    resources = draw(
        st.dictionaries(
            st.sampled_from(["op", "mul"]), st.builds(lambda r: {"resource": r}, names), max_size=1
        )
    )
    graph = Graph.build(op_records, edge_records, name=draw(names), limits=limits, op_types=resources)
    return graph.replace(attributes=draw(st.dictionaries(keys | texts, attributes, max_size=2)))


def properties(amounts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    kinds = st.sampled_from(["op", "mul"]) | names
    return st.fixed_dictionaries(
        {}, optional={"type": kinds, "latency": small, "occupancy": small, "weight": amounts, "bits": amounts}
    )


def exact(value: Any) -> Any:
    """Return a value with the types of its parts, so that 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return {key: exact(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [exact(v) for v in value]
    return (type(value).__name__, value)


def said(graph: Graph) -> dict[str, Any]:
    """Return the content; the properties are arrays that any integral float leaves as integers."""
    parts = content(graph)
    return parts | {key: exact(parts[key]) for key in ("attributes", "op_attributes", "edge_attributes")}


def written(graph: Graph, format: str) -> str | None:
    """Return the graph as text, None if the format refuses it."""
    try:
        return files.dumps(graph, format)
    except GraphError:
        return None


@pytest.mark.parametrize("format", ["json", "gml", "graphml", "dot", "edgelist"])
def test_everything_survives_or_is_refused(format: str) -> None:
    outcomes: Counter[bool] = Counter()

    @KEPT_BY_ALL
    @given(graphs())
    def check(graph: Graph) -> None:
        text = written(graph, format)
        outcomes[text is not None] += 1
        if text is None:
            return
        again = files.loads(text, format, graph.name)
        assert said(again) == said(graph)
        assert files.dumps(again, format) == text

    check()
    assert outcomes[True] and (outcomes[False] or format == "json")  # the test is about something


simple_text = st.text("abcxyz_ äß-", min_size=1, max_size=6).filter(lambda text: text == text.strip())
simple = simple_text | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("format", ["json", "gml", "graphml", "dot"])
def test_ordinary_graphs_are_never_refused(format: str) -> None:
    @KEPT_BY_ALL
    @given(ordinary_graphs())
    def check(graph: Graph) -> None:
        assert said(files.loads(files.dumps(graph, format), format)) == said(graph)

    check()


@st.composite
def ordinary_graphs(draw: st.DrawFn) -> Graph:
    ops = draw(st.lists(simple_text, max_size=6, unique=True))
    kinds = st.fixed_dictionaries(
        {}, optional={"type": simple_text, "latency": small, "weight": amounts, "bits": amounts}
    )
    notes = st.dictionaries(st.sampled_from(["note", "label", "w"]), simple, max_size=2)
    records = [{"name": name} | draw(notes) | draw(kinds) for name in ops]
    pairs = [(a, b) for i, a in enumerate(ops) for b in ops[i + 1 :]]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=6)) if pairs else []
    links = [{"src": a, "dst": b, "distance": draw(small)} | draw(notes) for a, b in chosen]
    graph = Graph.build(
        records, links, name=draw(simple_text), limits=draw(st.dictionaries(simple_text, small))
    )
    whole = st.dictionaries(simple_text, st.recursive(simple, st.lists), max_size=2)
    return graph.replace(attributes=draw(whole))


def test_blif_keeps_operations_and_dependences() -> None:
    @KEPT_BY_ALL
    @given(st.data())
    def check(data: st.DataObject) -> None:
        word = st.text("abc[]0.$", min_size=1, max_size=4).filter(lambda text: not text.startswith("."))
        ops = data.draw(st.lists(word, max_size=6, unique=True))
        pairs = [(a, b) for i, a in enumerate(ops) for b in ops[i + 1 :]]
        links = data.draw(st.lists(st.sampled_from(pairs), max_size=8)) if pairs else []
        graph = Graph.build(ops, links, name="m")
        again = files.loads(files.dumps(graph, "blif"), "blif")
        assert (again.name, again.ops) == (graph.name, graph.ops)
        assert sorted(edges(again)) == sorted(edges(graph))
        consumers = {b for _, b in links}
        assert types(again) == ["logic" if name in consumers else "input" for name in ops]

    check()


def test_blif_refuses_all_else() -> None:
    @KEPT_BY_ALL
    @given(graphs())
    def check(graph: Graph) -> None:
        text = written(graph, "blif")
        if text is None:
            return
        again = files.loads(text, "blif")
        assert (again.name, again.ops, again.resources) == (graph.name, graph.ops, graph.resources)
        assert sorted(edges(again)) == sorted(edges(graph))
        for key in ("latency", "occupancy", "weight", "bits"):
            assert getattr(again, key).tolist() == getattr(graph, key).tolist()
        assert not graph.op_attributes and not graph.edge_attributes and not graph.limits

    check()


def test_half_of_a_surrogate_pair() -> None:
    for format in ("json", "gml", "graphml", "dot", "edgelist", "blif"):
        with pytest.raises(GraphError):
            files.dumps(Graph.build(["a\ud800"], name="g"), format)
        with pytest.raises(GraphError, match="f: half of a surrogate pair is no text"):
            files.loads("\ud800", format, "f")


def test_nan_never_gets_out() -> None:
    for format in ("json", "gml", "graphml", "dot"):
        graph = Graph.build(["a"], name="g").replace(attributes={"x": math.nan})
        with pytest.raises(GraphError, match="graph attribute 'x' cannot be written, it is nan"):
            files.dumps(graph, format)


@pytest.mark.parametrize("format", ["json", "gml", "graphml", "dot"])
def test_published_graphs_survive(format: str, data_dir: Path) -> None:
    chosen = ["express/hal.dot", "modulo/origami-iir_sos4.json", "rw/rand_graph_1000_1.gml.gz",
              "epfl/random_control/ctrl.aig"]  # fmt: skip
    for name in chosen:
        graph = files.read(data_dir / name)
        assert said(files.loads(files.dumps(graph, format), format)) == said(graph), name
