"""Generated graphs: sizes, what they compute, seeds, and the statistics of the random ones."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from test_datasets import critical_path, type_counts

from gaus_lab import datasets
from gaus_lab.errors import DatasetError
from gaus_lab.graph import Graph

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("name", "parameters", "counts", "steps"),
    [
        ("chain", {"n": 1}, {"add": 1}, 1),
        ("chain", {"n": 9}, {"add": 9}, 9),
        ("fir", {}, {"mul": 16, "add": 15}, 6),
        ("fir", {"taps": 16, "chained": True}, {"mul": 16, "add": 15}, 17),
        ("fir", {"taps": 1}, {"mul": 1}, 2),
        ("fft", {"points": 2}, {"add": 1, "sub": 1}, 1),
        ("fft", {"points": 16}, {"add": 32, "sub": 32, "mul": 17}, 10),
        ("matmul", {"n": 3}, {"mul": 27, "add": 18}, 4),
        ("adder_tree", {"leaves": 5}, {"add": 4}, 3),
        ("multiplier_tree", {"leaves": 8}, {"mul": 7}, 6),
        ("array_multiplier", {"bits": 2}, {"and": 4, "half_adder": 2}, 3),
        ("array_multiplier", {"bits": 6}, {"and": 36, "half_adder": 6, "full_adder": 24}, 11),
    ],
)
def test_generated_sizes(name: str, parameters: dict[str, int], counts: dict[str, int], steps: int) -> None:
    graph = datasets.load(name, **parameters)
    assert type_counts(graph) == counts
    assert critical_path(graph) == steps


def test_fft_computes_the_transform() -> None:
    n = 16
    graph = datasets.fft(n)
    signal = np.random.Generator(np.random.PCG64(5)).normal(size=n)
    reversed_bits = [int(f"{i:04b}"[::-1], 2) for i in range(n)]
    lines = [complex(signal[i]) for i in reversed_bits]  # what each line holds so far
    for i in range(
        graph.n_ops
    ):  # in the order of construction: a stage after the other, a butterfly at a time
        kind, half, line = re.fullmatch(r"([ams])(\d+)_(\d+)", graph.ops[i]).groups()
        half, line = int(half), int(line)
        if kind == "m":
            lines[line] *= np.exp(-1j * np.pi * (line % half) / half)
        elif kind == "s":
            upper, lower = lines[line - half], lines[line]
            lines[line - half], lines[line] = upper + lower, upper - lower
            butterfly = {f"a{half}_{line - half}", f"m{half}_{line}"}
            assert set(graph.predecessors(graph.ops[i])) == set(graph.predecessors(f"a{half}_{line - half}"))
            assert butterfly & set(graph.ops)
    np.testing.assert_allclose(lines, np.fft.fft(signal))


def test_every_fft_output_depends_on_every_butterfly_before() -> None:
    graph = datasets.fft(8)
    outputs = [op for op in graph.ops if not graph.successors(op)]
    assert sorted(outputs) == sorted([f"a4_{i}" for i in range(4)] + [f"s4_{i}" for i in range(4, 8)])
    for output in outputs:
        seen, waiting = set(), [output]
        while waiting:
            waiting += graph.predecessors(waiting.pop())
            seen.update(waiting)
        assert sum(op.startswith(("a1", "s1")) for op in seen) == 4


@pytest.mark.parametrize(("a", "b"), [(0, 31), (31, 31), (19, 22)])
def test_array_multiplier_multiplies(a: int, b: int) -> None:
    bits = 5
    graph = datasets.array_multiplier(bits)
    carry = graph.edge_attributes["signal"]
    offsets, by_consumer = graph.in_edges
    total = np.zeros(graph.n_ops, dtype=int)  # an adder's sum and carry as one number
    for i in graph.order.tolist():
        gate = re.fullmatch(r"p(\d+)_(\d+)", graph.ops[i])
        edges = by_consumer[offsets[i] : offsets[i + 1]].tolist()
        if gate:
            total[i] = a >> int(gate[2]) & b >> int(gate[1]) & 1
        else:
            total[i] = sum(total[graph.src[e]] >> 1 if e in carry else total[graph.src[e]] & 1 for e in edges)
    value = {op: int(total[i]) for i, op in enumerate(graph.ops)}
    low = [value["p0_0"], *(value[f"c{i}_0"] & 1 for i in range(1, bits))]
    high = [value[f"c{bits}_{j}"] & 1 for j in range(bits - 1)] + [value[f"c{bits}_{bits - 2}"] >> 1]
    assert sum(bit << i for i, bit in enumerate(low + high)) == a * b


def fingerprint(graph: Graph) -> str:
    """Return a hash of everything that a random graph consists of."""
    columns = ("type_index", "weight", "bits", "src", "dst", "distance", "cost")
    text = json.dumps([graph.ops, *(getattr(graph, key).tolist() for key in columns)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: datasets.random_workload(200, seed=1), "02aafdf0f2315cd2"),
        (lambda: datasets.random_workload(200, seed=1, sparse=True), "633d771db32c5957"),
        (lambda: datasets.random_dag(30, 60, ("a", "b"), seed=1), "24f13b828489ae01"),
        (lambda: datasets.add_recurrences(datasets.fir(8), 5, seed=1, distance=(1, 4)), "3946c6e582043e0a"),
    ],
)
def test_a_seed_gives_the_same_graph_on_every_machine(make, expected: str) -> None:
    assert fingerprint(make()) == expected


def test_seeds_differ() -> None:
    graphs = [datasets.random_workload(200, seed=seed) for seed in range(4)]
    assert len({fingerprint(graph) for graph in graphs}) == 4


@pytest.mark.parametrize(("n", "edges"), [(1, 0), (2, 1), (9, 36), (9, 30), (200, 300)])
def test_random_dag_has_the_edges_asked_for(n: int, edges: int) -> None:
    graph = datasets.random_dag(n, edges, {"mul": {"latency": 3}, "add": {}}, seed=n)
    assert (graph.n_ops, graph.n_edges) == (n, edges)
    assert (graph.src < graph.dst).all()
    assert len(set(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))) == edges
    is_mul = np.array([graph.type_of(i) == "mul" for i in range(n)])
    assert (graph.latency == np.where(is_mul, 3, 1)).all()


def test_add_recurrences_closes_cycles_only() -> None:
    body = datasets.random_workload(300, seed=2)
    loop = datasets.add_recurrences(body, 40, seed=3, distance=(2, 3), longest=5)
    new = slice(body.n_edges, None)
    assert loop.n_edges == body.n_edges + 40
    assert set(loop.distance[new].tolist()) == {2, 3}
    assert (loop.lag[new] == loop.latency[loop.src[new]]).all()
    lengths = set()
    for last, first in zip(loop.src[new].tolist(), loop.dst[new].tolist(), strict=True):
        reached = [{first}]
        while last not in reached[-1]:
            reached.append({body.index(op) for v in reached[-1] for op in body.successors(v)})
            assert len(reached) <= 6
        lengths.add(len(reached) - 1)
    assert len(lengths) > 2


def test_random_workload_follows_the_rules_of_the_files() -> None:
    graph = datasets.random_workload(3000, seed=7)
    parameter = np.array(list(graph.edge_attributes["parameter"].values()))
    assert (graph.cost == (parameter > 0)).all()
    assert (graph.weight == 0).sum() == -(-6 * graph.n_ops // 10)
    assert (graph.cost == 0).sum() == -(-6 * graph.n_edges // 10)
    for i in range(0, graph.n_ops, 100):
        assert graph.bits[i] == (max(parameter[graph.src == i], default=0) or 1)


STATISTICS = {
    False: ("1000_1", "5000_2", "10000_3"),
    True: ("sparse_1000_2", "sparse_5000_1", "sparse_10000_1"),
}


@pytest.mark.parametrize(
    ("file", "sparse"), [(file, sparse) for sparse, files in STATISTICS.items() for file in files]
)
def test_random_workload_has_the_statistics_of_rw(data_dir: Path, file: str, sparse: bool) -> None:
    real = datasets.load(f"rw/{file}")
    n = int(re.search(r"\d+", file)[0])
    ours = datasets.random_workload(n, seed=11, sparse=sparse)
    noise = 3 / np.sqrt(n)  # three standard deviations of a share, at most
    assert abs(ours.n_ops / real.n_ops - 1) < 2 * noise
    assert abs(ours.n_edges / real.n_edges - 1) < 3 * noise
    assert abs(critical_path(ours) - critical_path(real)) <= 5  # both vary that much from graph to graph
    for end in ("src", "dst"):
        degrees = [np.bincount(getattr(g, end), minlength=g.n_ops) for g in (ours, real)]
        shares = [np.bincount(np.minimum(d, 12), minlength=13) / len(d) for d in degrees]
        assert np.abs(shares[0] - shares[1]).max() < noise
    joint = [
        np.corrcoef(np.bincount(g.src, minlength=g.n_ops), np.bincount(g.dst, minlength=g.n_ops))[0, 1]
        for g in (ours, real)
    ]
    assert abs(joint[0] - joint[1]) < 2 * noise
    for key in ("weight", "cost"):
        assert abs((getattr(ours, key) == 0).mean() - (getattr(real, key) == 0).mean()) < 0.001
    assert abs(ours.weight[ours.weight > 0].mean() / real.weight[real.weight > 0].mean() - 1) < noise


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("hal", {"taps": 3}, "'hal' takes no parameters, got taps"),
        ("fir", {"tap": 3}, "unexpected keyword argument 'tap'; its parameters are taps, chained"),
        ("fir", {"taps": 0}, "fir: taps must be >= 1, got 0"),
        ("fir", {"taps": 2.5}, "fir: taps must be an integer"),
        ("fir", {"taps": True}, "fir: taps must be an integer"),
        ("fir", {"taps": 10**12}, "fir: taps must be <= 1000000"),
        ("fft", {"points": 12}, "points must be a power of 2, got 12"),
        ("matmul", {"n": 10**4}, "matmul: n must be <= 128"),
        ("adder_tree", {"leaves": 1}, "adder_tree: leaves must be >= 2"),
        ("array_multiplier", {"bits": 1}, "bits must be >= 2"),
        ("random_dag", {"n": 3, "edges": 4}, "3 operations have at most 3 edges"),
        ("random_dag", {"types": ()}, "types must be a sequence of names"),
        ("random_dag", {"types": 4}, "types must be a sequence of names"),
        ("random_workload", {"seed": -1}, "seed must be >= 0, got -1"),
    ],
)
def test_bad_parameters(name: str, parameters: dict[str, object], message: str) -> None:
    with pytest.raises(DatasetError, match=re.escape(message)):
        datasets.load(name, **parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"count": -1}, "count must be >= 0"),
        ({"count": 1, "distance": 0}, "distance must be >= 1, got 0"),
        ({"count": 1, "distance": (3, 2)}, "highest distance must be >= 3, got 2"),
        ({"count": 1, "longest": -1}, "longest must be >= 0"),
    ],
)
def test_bad_recurrences(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        datasets.add_recurrences(datasets.chain(3), **parameters)
    with pytest.raises(DatasetError, match="no operations"):
        datasets.add_recurrences(Graph.build([]), 1)
    assert datasets.add_recurrences(Graph.build([]), 0).n_ops == 0
