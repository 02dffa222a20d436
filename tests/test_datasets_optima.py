"""Optima in ``datasets/optima.csv`` are proven again, with a model that shares no code with the solvers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from gaus_lab import datasets
from gaus_lab.graph import Graph

cp_model = pytest.importorskip("ortools.sat.python.cp_model", reason="ortools is not installed")

TABLE = Path(__file__).parents[1] / "datasets" / "optima.csv"
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))


class Model:
    """Start times under precedence, and units of each resource that cover the usage."""

    def __init__(
        self, graph: Graph, horizon: int, units: dict[str, int] | None, ii: int | None = None
    ) -> None:
        self.model = cp_model.CpModel()
        self.graph = graph
        self.start = [self.model.new_int_var(0, int(horizon - span), "") for span in graph.span]
        for u, v, lag, distance in zip(graph.src, graph.dst, graph.lag, graph.distance, strict=True):
            if ii is not None or distance == 0:
                slack = int(distance) * (ii or 0) - int(lag)
                self.model.add(self.start[u] <= self.start[v] + slack)
        self.units = {}
        for index, resource in enumerate(graph.resources):
            ops = np.flatnonzero(graph.resource_index == index).tolist()
            given = graph.n_ops if units is None else units.get(resource, graph.n_ops)
            self.units[resource] = self.model.new_int_var(0, given, resource)
            intervals = [interval for op in ops for interval in self.intervals(op, horizon, ii)]
            self.model.add_cumulative(intervals, [1] * len(intervals), self.units[resource])

    def intervals(self, op: int, horizon: int, ii: int | None) -> list[cp_model.IntervalVar]:
        """Return when an operation holds its unit; in a modulo schedule also a period earlier: the wrap."""
        occupancy = int(self.graph.occupancy[op])
        if ii is None:
            return [self.model.new_fixed_size_interval_var(self.start[op], occupancy, "")]
        assert occupancy <= ii
        slot = self.model.new_int_var(0, ii - 1, "")
        stage = self.model.new_int_var(0, horizon // ii, "")
        self.model.add(self.start[op] == stage * ii + slot)
        return [self.model.new_fixed_size_interval_var(slot - shift, occupancy, "") for shift in (0, ii)]

    def solve(self) -> int | None:
        """Return the proven optimum (0 without an objective), None if there is no schedule."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_time_in_seconds = 120
        status = solver.solve(self.model)
        assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE), solver.status_name(status)
        return int(solver.objective_value) if status == cp_model.OPTIMAL else None


def fewest_units(graph: Graph, horizon: int) -> int | None:
    model = Model(graph, horizon, None)
    model.model.minimize(sum(model.units.values()))
    return model.solve()


def shortest_schedule(graph: Graph, units: dict[str, int]) -> int | None:
    horizon = int(graph.span.sum())
    model = Model(graph, horizon, units)
    makespan = model.model.new_int_var(0, horizon, "makespan")
    for start, span in zip(model.start, graph.span.tolist(), strict=True):
        model.model.add(start + span <= makespan)
    model.model.minimize(makespan)
    return model.solve()


def smallest_ii(graph: Graph, units: dict[str, int]) -> int:
    """Return the first ii with a schedule.

    The horizon is no restriction: shifting operations by whole periods gives a schedule where each start is
    less than lag + ii after some start before it.
    """
    ii = int(graph.occupancy.max())
    while Model(graph, int((graph.span + ii).sum()), units, ii).solve() is None:
        ii += 1
    return ii


@pytest.mark.parametrize("row", ROWS, ids=[f"{r['graph']}-{r['problem']}-{r['setting']}" for r in ROWS])
def test_optimum(row: dict[str, str]) -> None:
    graph = datasets.load(row["graph"])
    given = (
        {} if row["setting"] == "unlimited" else dict(part.split("=") for part in row["setting"].split(" "))
    )
    numbers = {key: int(value) for key, value in given.items()}
    prove = {
        "TC": lambda: fewest_units(graph, numbers["horizon"]),
        "RC": lambda: shortest_schedule(graph, numbers),
        "II": lambda: smallest_ii(graph, numbers),
    }
    assert prove[row["problem"]]() == int(row["optimum"])


@pytest.mark.fast
def test_every_row_names_a_graph_and_a_source() -> None:
    kinds = {row.name: row.kind for row in datasets.list_names()}
    for row in ROWS:
        assert kinds[row["graph"]] == "bundled"
        assert row["source"]
    assert len({(row["graph"], row["problem"], row["setting"]) for row in ROWS}) == len(ROWS)
