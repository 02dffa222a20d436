"""``gaus-lab info``: what a graph says before any schedule is made."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.analysis import asap, critical_path_length, mii, mobility, rec_mii, res_mii
from gaus_lab.cli.output import say
from gaus_lab.datasets import load_or_read
from gaus_lab.graph import Graph
from gaus_lab.graph.check import PRODUCER_LATENCY
from gaus_lab.html import text_table
from gaus_lab.schedule import Schedule


def run(options: Namespace) -> int:
    """Print the tables of a graph; return 0."""
    graph = load_or_read(options.graph)
    types = text_table(type_rows(graph), ("type", "resource", "operations", "latency", "occupancy", "weight"))
    say("\n\n".join([text_table(graph_rows(graph)), types]) if graph.n_ops else text_table(graph_rows(graph)))
    return 0


def graph_rows(graph: Graph) -> list[tuple[str, str]]:
    """Return name and value of what is said of the whole graph."""
    horizon = critical_path_length(graph)
    earliest = Schedule(graph, asap(graph))
    carried = int(np.count_nonzero(graph.distance))
    free = mobility(graph, horizon)
    return [
        ("graph", graph.name),
        ("operations", str(graph.n_ops)),
        ("edges", str(graph.n_edges)),
        ("loop-carried edges", f"{carried}{_range(graph.distance[graph.distance > 0], ', distance ')}"),
        ("weights", f"{_range(graph.weight)}, sum {_sum(graph.weight)}"),
        ("bits", f"{_range(graph.bits)}, sum {_sum(graph.bits)}"),
        ("edge costs", f"{_range(graph.cost)}, sum {_sum(graph.cost)}"),
        ("critical path", f"{horizon} steps"),
        ("depth", f"{_depth(graph, horizon)} operations on the longest path"),
        ("ASAP peak usage", _pairs(earliest.peak_usage)),
        ("ASAP communication", str(earliest.communication)),
        ("limits", _pairs(graph.limits)),
        ("ResMII, RecMII, MII", f"{res_mii(graph)}, {rec_mii(graph)}, {mii(graph)}"),
        ("mobility at the critical path", f"{_range(free)}, median {_median(free)}"),
        *_mobility_rows(free),
    ]


def type_rows(graph: Graph) -> list[tuple[str, ...]]:
    """Return a row for each type in use: its resource, how many operations, ranges of their properties."""
    rows = []
    for k, name in enumerate(graph.types):
        ops = np.flatnonzero(graph.type_index == k)
        if len(ops):
            ranges = [_range(getattr(graph, key)[ops]) for key in ("latency", "occupancy", "weight")]
            rows.append((name, graph.resource_of_type.get(name, name), str(len(ops)), *ranges))
    return rows


def _mobility_rows(free: NDArray[np.int64]) -> list[tuple[str, str]]:
    """Return how many operations have mobility 0, 1, 2-3, 4-7, and so on by powers of two."""
    bucket = np.ceil(np.log2(free + 1.0)).astype(np.int64)
    rows = []
    for k, count in enumerate(np.bincount(bucket).tolist() if len(free) else []):
        first, last = (0, 0) if k == 0 else (2 ** (k - 1), 2**k - 1)
        if count:
            rows.append((f"  mobility {first}" + (f"-{last}" if last > first else ""), str(count)))
    return rows


def _depth(graph: Graph, horizon: int) -> int:
    """Return the number of operations on the longest path: the critical path where all latencies are 1."""
    unit = bool((graph.latency == 1).all() and (graph.edge_latency == PRODUCER_LATENCY).all())
    return horizon if unit else critical_path_length(graph.replace(latency=1, edge_latency=PRODUCER_LATENCY))


def _range(values: NDArray[Any], prefix: str = "") -> str:
    if not len(values):
        return "" if prefix else "none"
    low, high = values.min().item(), values.max().item()
    return f"{prefix}{low}" if low == high else f"{prefix}{low} to {high}"


def _sum(values: NDArray[Any]) -> str:
    return str(values.sum().item())


def _median(values: NDArray[np.int64]) -> str:
    return f"{np.median(values):.15g}" if len(values) else "none"


def _pairs(values: Any) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items()) or "none"
