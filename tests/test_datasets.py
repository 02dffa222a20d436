"""Bundled graphs: they have the sizes of the literature, and compute what they say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gaus_lab import datasets
from gaus_lab.datasets import library
from gaus_lab.graph import Graph

pytestmark = pytest.mark.fast


def type_counts(graph: Graph) -> dict[str, int]:
    return dict(zip(graph.types, np.bincount(graph.type_index).tolist(), strict=True))


def critical_path(graph: Graph) -> int:
    """Return the makespan of the ASAP schedule, by the definition."""
    start = np.zeros(graph.n_ops, dtype=int)
    offsets, by_consumer = graph.in_edges
    for v in graph.order:
        for e in by_consumer[offsets[v] : offsets[v + 1]]:
            if graph.distance[e] == 0:
                start[v] = max(start[v], start[graph.src[e]] + graph.lag[e])
    return int((start + graph.span).max(initial=0))


@pytest.mark.parametrize(
    ("name", "counts", "steps"),
    [
        ("hal", {"mul": 6, "sub": 2, "add": 2, "cmp": 1}, 6),
        ("ewf", {"add": 26, "mul": 8}, 17),
        ("ewf_loop", {"add": 26, "mul": 8}, 17),
        ("ar", {"mul": 16, "add": 12}, 11),
        ("dct", {"mul": 11, "add": 16, "sub": 13}, 8),
        ("idct", {"mul": 11, "add": 16, "sub": 13}, 8),
        ("iir2", {"mul": 5, "add": 2, "sub": 2}, 7),
        ("mac", {"mul": 1, "add": 1}, 3),
        ("diamond", {"add": 4}, 3),
    ],
)
def test_bundled_sizes(name: str, counts: dict[str, int], steps: int) -> None:
    graph = datasets.load(name)
    assert graph.name == name
    assert type_counts(graph) == counts
    assert critical_path(graph) == steps


def test_every_file_in_the_package_is_a_name() -> None:
    folder = Path(library.__file__).parent / "graphs"
    assert sorted(path.stem for path in folder.iterdir()) == sorted(library.BUNDLED)


def operands(expression: str) -> list[tuple[str, int]]:
    """Return (name, distance) of what an expression such as ``a1 * w@2`` reads."""
    left, _, right = expression.split(" ")
    names = (text.partition("@") for text in (left, right))
    return [(name, int(distance or 0)) for name, _, distance in names]


@pytest.mark.parametrize("name", library.BUNDLED)
def test_edges_of_bundled_graphs_are_the_operands(name: str) -> None:
    graph = datasets.load(name)
    expressions = graph.op_attributes["expression"]
    read = [
        (producer, graph.ops[i], distance)
        for i in range(graph.n_ops)
        for producer, distance in operands(expressions[i])
        if producer in graph.ops
    ]
    edges = [
        (graph.ops[u], graph.ops[v], int(d))
        for u, v, d in zip(graph.src, graph.dst, graph.distance, strict=True)
    ]
    assert sorted(edges) == sorted(read)


def evaluate(graph: Graph, values: dict[str, float]) -> dict[str, float]:
    """Return the value of each operation of an acyclic bundled graph."""
    compute = {"*": np.multiply, "+": np.add, "-": np.subtract, "<": np.less}
    values = dict(values)
    for i in graph.order.tolist():
        left, symbol, right = graph.op_attributes["expression"][i].split(" ")
        a, b = (values[text] if re.match("[a-z]", text) else float(text) for text in (left, right))
        values[graph.ops[i]] = compute[symbol](a, b)
    return values


def test_hal_integrates_the_differential_equation() -> None:
    x, y, u, dx = 0.5, 2.0, -1.25, 0.125
    values = evaluate(datasets.load("hal"), {"x": x, "y": y, "u": u, "dx": dx, "a": 0.6})
    assert values["u_next"] == u - 3 * x * u * dx - 3 * y * dx
    assert (values["y_next"], values["x_next"], values["again"]) == (y + u * dx, x + dx, False)


def test_dct_and_idct_compute_the_transform() -> None:
    samples = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0])
    k, n = np.mgrid[:8, :8]
    matrix = np.sqrt(np.where(k == 0, 1, 2)) * np.cos((2 * n + 1) * k * np.pi / 16)  # sqrt(8) x orthonormal
    forward = evaluate(datasets.load("dct"), {f"x{i}": samples[i] for i in range(8)})
    backward = evaluate(datasets.load("idct"), {f"y{i}": samples[i] for i in range(8)})
    np.testing.assert_allclose([forward[f"y{i}"] for i in range(8)], matrix @ samples, atol=1e-12)
    np.testing.assert_allclose([backward[f"x{i}"] for i in range(8)], matrix.T @ samples, atol=1e-12)


def test_ewf_loop_is_ewf_with_its_states() -> None:
    acyclic, loop = datasets.load("ewf"), datasets.load("ewf_loop")
    assert acyclic.ops == loop.ops
    inner = loop.distance == 0
    assert sorted(zip(loop.src[inner], loop.dst[inner], strict=True)) == sorted(
        zip(acyclic.src, acyclic.dst, strict=True)
    )
    assert len(np.unique(loop.src[~inner])) == 7


def test_units_of_the_classical_benchmarks() -> None:
    graph = datasets.load("hal")
    product = graph.index("damping")
    assert (graph.latency[product], graph.occupancy[product]) == (2, 2)
    assert set(graph.resources) == {"MUL", "ALU"}
