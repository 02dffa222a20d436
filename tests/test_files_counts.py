"""Exact counts of the published collections: EPFL circuits, random workloads, EXPRESS graphs, loop bodies."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from graph_files import types

from gaus_lab import analysis, files
from gaus_lab.graph import Graph


def table(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def depth(graph: Graph) -> int:
    """Return the longest path in operations: every operation of these collections takes one step."""
    assert (graph.latency == 1).all()
    return int(analysis.asap(graph).max(initial=-1)) + 1


def test_epfl(data_dir: Path) -> None:
    rows = table(data_dir / "epfl/stats.csv")
    found, expected = {}, {}
    for row in rows:
        graph = files.read(data_dir / "epfl" / row["group"] / f"{row['circuit']}.aig")
        assert (graph.name, graph.resources) == (row["circuit"], ("op",))
        counted = [types(graph).count(t) for t in ("input", "and", "const")]
        found[row["circuit"]] = (graph.n_ops, graph.n_edges, depth(graph), *counted)
        columns = ("nodes_blif", "edges_blif", "depth", "inputs", "ands", "const_outputs")
        expected[row["circuit"]] = tuple(int(row[key]) for key in columns)
    assert len(rows) == 20
    assert found == expected


def test_random_workloads(data_dir: Path) -> None:
    rows = table(data_dir / "rw/stats.csv")
    found, expected = {}, {}
    for row in rows:
        graph = files.read(data_dir / "rw" / f"{row['file']}.gz")
        zero_costs = int((graph.cost == 0).sum())
        weights = (int((graph.weight == 0).sum()), int(graph.weight.max()), int(graph.weight.sum()))
        found[row["file"]] = (
            graph.n_ops,
            graph.n_edges,
            depth(graph),
            *weights,
            zero_costs,
            graph.bits.max(),
        )
        columns = (
            "nodes",
            "edges",
            "depth",
            "node_w_zero",
            "node_w_max",
            "node_w_sum",
            "edge_w_zero",
            "edge_w_max",
        )
        expected[row["file"]] = tuple(int(row[key]) for key in columns)
    assert len(rows) == 18
    assert found == expected


def test_express(data_dir: Path) -> None:
    paths = sorted((data_dir / "express").glob("*.dot"))
    graphs = {path.stem: files.read(path) for path in paths}
    assert len(graphs) == 12
    assert all(graph.n_edges for graph in graphs.values())
    hal = graphs["hal"]
    assert (hal.n_ops, hal.n_edges, types(hal).count("mul")) == (11, 8, 6)


def test_loop_bodies(data_dir: Path) -> None:
    paths = sorted((data_dir / "modulo").glob("*.json"))
    graphs = [files.read(path) for path in paths]
    assert len(graphs) == 39
    assert all(set(graph.limits) <= set(graph.resources) for graph in graphs)
    assert sum(bool(graph.limits) for graph in graphs) == 37
    assert sum(bool(graph.distance.any()) for graph in graphs) == 35


def test_largest_circuit_is_read_in_little_memory(data_dir: Path) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("peak memory is read from /proc, which this system has not")
    # Not ru_maxrss: on Linux a child starts with the peak of the process that made it.
    code = (
        "import sys, gaus_lab.files as f; g = f.read(sys.argv[1]);"
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'));"
        "print(g.n_ops, status['VmHWM'].split()[0])"
    )
    path = data_dir / "epfl/arithmetic/hyp.aig"
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    n_ops, kibibytes = map(int, run.stdout.split())
    assert n_ops == 214_591
    assert kibibytes < 400 * 1024
