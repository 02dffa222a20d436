"""The baseline solvers on graphs whose answers are known, and against slow code written from the definitions."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from small_graphs import graphs

import gaus_lab as gl
from gaus_lab.datasets import random_dag
from gaus_lab.run import Run
from gaus_lab.solvers.list_pass import ListPass

pytestmark = pytest.mark.fast

TABLE = Path(__file__).parents[1] / "datasets" / "optima.csv"
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))

FORK = gl.Graph.build(["a", "b", "c", "d"], [("a", "b"), ("a", "c"), ("b", "d")])


def schedule(result: gl.Result) -> gl.Schedule:
    assert result.schedule is not None, result.reason
    return result.schedule


def objective(result: gl.Result) -> int:
    assert result.objective is not None, result.reason
    return result.objective


def peaks(result: gl.Result) -> dict[str, int]:
    return schedule(result).peak_usage


def numbers(setting: str) -> dict[str, int]:
    return {key: int(value) for key, value in (part.split("=") for part in setting.split(" "))}


# ---- ASAP and ALAP -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "problem", "start"),
    [
        (gl.Asap(), gl.ResourceProblem(FORK, horizon=5), [0, 1, 1, 2]),
        (gl.Alap(), gl.ResourceProblem(FORK, horizon=5), [2, 3, 4, 4]),
        (gl.Asap(), gl.FootprintProblem(FORK, horizon=5), [0, 1, 1, 2]),
        (gl.Alap(), gl.FootprintProblem(FORK), [0, 1, 2, 2]),
        (gl.Asap(), gl.LatencyProblem(FORK), [0, 1, 1, 2]),
        (gl.Alap(), gl.LatencyProblem(FORK), [0, 1, 2, 2]),  # the critical path is the horizon
        (gl.Alap(), gl.LatencyProblem(FORK, horizon=4), [1, 2, 3, 3]),
    ],
)
def test_extremes(solver: object, problem: gl.ResourceProblem, start: list[int]) -> None:
    result = gl.solve(problem, solver)  # type: ignore[arg-type]
    assert schedule(result).start.tolist() == start


def test_extremes_of_a_loop_wait_for_the_iteration_before() -> None:
    edges = [{"src": "a", "dst": "b", "distance": 1, "latency": 5}]
    problem = gl.ModuloProblem(gl.Graph.build(["a", "b"], edges), ii=2, horizon=6)
    assert schedule(gl.solve(problem, gl.Asap())).to_dict() == {"a": 0, "b": 3}
    assert schedule(gl.solve(problem, gl.Alap())).to_dict() == {"a": 2, "b": 5}


def test_extremes_have_no_schedule_where_limits_bind() -> None:
    problem = gl.LatencyProblem(FORK, limits={"op": 1})
    result = gl.solve(problem, gl.Asap())
    assert result.schedule is None
    assert result.status is gl.Status.UNKNOWN


# ---- list scheduling: limits -------------------------------------------------------------------------------


def gap_graph() -> gl.Graph:
    """P must end before B; A, last by priority, fits into the gap before B on their one unit."""
    ops = [
        {"name": "P", "latency": 3, "type": "Q"},
        {"name": "B", "latency": 2, "occupancy": 2, "type": "R"},
        {"name": "A", "type": "R"},
    ]
    return gl.Graph.build(ops, [("P", "B")], limits={"R": 1, "Q": 1})


def test_list_fills_gaps_in_a_given_order() -> None:
    problem = gl.LatencyProblem(gap_graph())
    result = gl.solve(problem, gl.ListScheduling(priority=("P", "B", "A"), backwards=False))
    assert schedule(result).to_dict() == {"P": 0, "B": 3, "A": 0}
    assert objective(result) == 5


def test_list_follows_the_given_order() -> None:
    problem = gl.LatencyProblem(gl.Graph.build(["a", "b", "c"]), limits={"op": 1})
    result = gl.solve(problem, gl.ListScheduling(priority=("c", "a", "b"), backwards=False))
    assert schedule(result).to_dict() == {"a": 1, "b": 2, "c": 0}


def test_list_starts_a_later_operation_that_fits() -> None:
    ops = [{"name": name, "weight": weight} for name, weight in (("a", 2), ("b", 2), ("c", 1))]
    problem = gl.LatencyProblem(gl.Graph.build(ops), limits={"op": 3})
    result = gl.solve(problem, gl.ListScheduling(priority=("a", "b", "c"), backwards=False))
    assert schedule(result).to_dict() == {"a": 0, "b": 1, "c": 0}


def test_list_chains_latency_0_into_one_step() -> None:
    ops = [{"name": name, "latency": 0} for name in "abcd"]
    graph = gl.Graph.build(ops, [("a", "b"), ("b", "c"), ("c", "d")])
    result = gl.solve(gl.LatencyProblem(graph, limits={"op": 2}), gl.ListScheduling())
    assert schedule(result).start.tolist() == [0, 0, 1, 1]


def test_list_lets_operations_without_occupancy_or_weight_pass() -> None:
    ops = [{"name": "a", "occupancy": 0, "weight": 9}, {"name": "b", "weight": 0}, "c", "d"]
    result = gl.solve(gl.LatencyProblem(gl.Graph.build(ops), limits={"op": 1}), gl.ListScheduling())
    assert objective(result) == 2
    assert schedule(result).start_of("a") == schedule(result).start_of("b") == 0


def test_list_holds_a_unit_for_the_occupancy() -> None:
    ops = [{"name": name, "latency": 1, "occupancy": 4} for name in "abc"]
    result = gl.solve(gl.LatencyProblem(gl.Graph.build(ops), limits={"op": 1}), gl.ListScheduling())
    assert sorted(schedule(result).start.tolist()) == [0, 4, 8]
    assert objective(result) == 9


def test_backward_passes_shorten_a_schedule() -> None:
    """Forwards b, a, c, d start in this order, and d in step 2 only; backwards a and d share a unit."""
    ops = [
        {"name": name, "latency": k, "occupancy": k} for name, k in (("a", 2), ("b", 3), ("c", 1), ("d", 2))
    ]
    problem = gl.LatencyProblem(gl.Graph.build(ops, [("c", "d")]), limits={"op": 2})
    assert objective(gl.solve(problem, gl.ListScheduling(backwards=False))) == 5
    assert objective(gl.solve(problem, gl.ListScheduling())) == 4


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r["problem"] == "RC"], ids=lambda r: f"{r['graph']} {r['setting']}"
)
def test_list_finds_the_known_optima_under_limits(row: dict[str, str]) -> None:
    problem = gl.LatencyProblem(gl.load(row["graph"]), limits=numbers(row["setting"]))
    assert objective(gl.solve(problem, gl.ListScheduling())) == int(row["optimum"])


@given(graphs(min_ops=1), st.booleans(), st.integers(0, 3), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_pass_under_caps_is_legal(graph: gl.Graph, backwards: bool, spare: int, random: Random) -> None:
    largest = [int(graph.weight[graph.ops_on(resource)].max()) for resource in graph.resources]
    limits = {r: max(1, units + spare) for r, units in zip(graph.resources, largest, strict=True)}
    rank = np.asarray(random.sample(range(graph.n_ops), graph.n_ops))
    start, peaks = ListPass(graph, backwards)(rank, np.asarray(list(limits.values())))
    problem = gl.LatencyProblem(graph, limits=limits)
    assert gl.verify(problem, start) == []
    assert dict(zip(graph.resources, peaks.tolist(), strict=True)) == gl.Schedule(graph, start).peak_usage
    assert start.min() == 0 or not backwards


# ---- list scheduling: horizons -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r["problem"] == "TC"], ids=lambda r: f"{r['graph']} {r['setting']}"
)
def test_levelling_comes_near_the_fewest_units(row: dict[str, str]) -> None:
    problem = gl.ResourceProblem(gl.load(row["graph"]), horizon=numbers(row["setting"])["horizon"])
    optimum, missed = int(row["optimum"]), (row["graph"], row["setting"]) == ("ewf", "horizon=18")
    assert objective(gl.solve(problem, gl.ListScheduling())) == optimum + missed
    assert optimum <= objective(gl.solve(problem, gl.ForceDirected())) <= optimum + 2


@given(graphs(min_ops=1), st.booleans(), st.integers(0, 5), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_pass_within_a_horizon_is_legal(
    graph: gl.Graph, backwards: bool, spare: int, random: Random
) -> None:
    horizon = gl.critical_path_length(graph) + spare
    limit = gl.asap(graph) if backwards else gl.alap(graph, horizon)
    rank = np.asarray(random.sample(range(graph.n_ops), graph.n_ops))
    start, peaks = ListPass(graph, backwards)(rank, np.full(len(graph.resources), 2), limit, horizon)
    broken = [v.constraint for v in gl.verify(gl.ResourceProblem(graph, horizon=horizon), start)]
    # On reversed time a producer that holds its unit for longer than its consumer waits, at times for too long.
    assert not broken or (backwards and set(broken) == {"start"} and (graph.occupancy > 1).any())
    assert dict(zip(graph.resources, peaks.tolist(), strict=True)) == gl.Schedule(graph, start).peak_usage


def test_list_finds_the_smallest_peak_of_independent_operations() -> None:
    graph = gl.Graph.build([f"x{i}" for i in range(100)])
    result = gl.solve(gl.ResourceProblem(graph, horizon=7), gl.ListScheduling())
    assert objective(result) == 15  # ceil(100 / 7)
    assert result.status is gl.Status.OPTIMAL


def test_list_lowers_each_resource_by_itself() -> None:
    """Three chains s -> s -> t: rigid in 3 steps; in 6 steps two units of one type and one of the other do."""
    ops = [{"name": f"s{i}", "type": "S"} for i in range(6)] + [
        {"name": f"t{i}", "type": "T"} for i in range(6)
    ]
    edges = [("s0", "s3"), ("s1", "s4"), ("s2", "s5"), ("s3", "t0"), ("s4", "t1"), ("s5", "t2")]
    problem = gl.ResourceProblem(gl.Graph.build(ops, edges), horizon=3)
    result = gl.solve(problem, gl.ListScheduling())
    assert peaks(result) == {"S": 3, "T": 3}
    wide = gl.solve(problem.replace(horizon=6), gl.ListScheduling())
    assert peaks(wide) == {"S": 2, "T": 1} or peaks(wide) == {"S": 1, "T": 2}


def test_list_leaves_a_resource_without_price_alone() -> None:
    graph = gl.Graph.build([{"name": f"{t}{i}", "type": t} for t in "ST" for i in range(4)])
    problem = gl.ResourceProblem(graph, horizon=4, resource_weights={"S": 1})
    assert peaks(gl.solve(problem, gl.ListScheduling(backwards=False))) == {"S": 1, "T": 4}


def test_list_meets_limits_below_the_horizon() -> None:
    graph = gl.Graph.build([f"x{i}" for i in range(8)])
    for kind in (gl.ResourceProblem, gl.FootprintProblem):
        result = gl.solve(kind(graph, horizon=4, limits={"op": 3}), gl.ListScheduling())
        assert peaks(result)["op"] <= 3


def test_list_takes_the_direction_with_less_communication() -> None:
    """Producers of one late consumer: forwards they all start early, backwards they wait for it."""
    names = [f"p{i}" for i in range(3)]
    chain = ["a", "b", "c", "d"]
    edges = [*pairwise(chain), *((name, "d") for name in names)]
    problem = gl.ResourceProblem(
        gl.Graph.build([*names, *chain], edges), resource_weights=0, communication_weight=1
    )
    assert objective(gl.solve(problem, gl.ListScheduling(backwards=False))) == 3 + 3 * 3
    assert objective(gl.solve(problem, gl.ListScheduling())) == 3 + 3


def test_list_does_not_depend_on_the_length_of_time() -> None:
    """Latencies of 2**40 steps: nothing may be dense in time."""
    big = 2**40
    ops = [{"name": f"x{i}", "latency": big, "occupancy": big} for i in range(3)]
    graph = gl.Graph.build(ops, [("x0", "x1")])
    assert objective(gl.solve(gl.LatencyProblem(graph, limits={"op": 2}), gl.ListScheduling())) == 2 * big
    assert objective(gl.solve(gl.ResourceProblem(graph, horizon=4 * big), gl.ListScheduling())) == 1


def test_list_counts_a_pass_as_a_step_and_stops() -> None:
    problem = gl.ResourceProblem(gl.load("idct"), horizon=12)
    seen: list[int] = []
    result = gl.solve(
        problem, gl.ListScheduling(), stop=gl.MaxSteps(3), watch=lambda run: seen.append(run.steps)
    )
    assert result.schedule is not None
    assert seen[-1] in (3, 4)  # each direction makes its first pass
    assert seen == sorted(seen)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gl.ListScheduling(passes=0), "passes must be >= 1, got 0"),
        (lambda: gl.ListScheduling(backwards=1), "backwards must be True or False"),  # type: ignore[arg-type]
        (lambda: gl.ListScheduling(priority="ab"), "priority must be a tuple"),  # type: ignore[arg-type]
        (lambda: gl.ForceDirected(candidates=0), "candidates must be >= 1, got 0"),
        (lambda: gl.ForceDirected(look_ahead=-1), "look_ahead must be a finite number >= 0, got -1"),
        (lambda: gl.ForceDirected(look_ahead=float("nan")), "look_ahead must be a finite number"),
    ],
)
def test_settings_are_checked(make: object, message: str) -> None:
    with pytest.raises(gl.SolverError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("priority", [("a", "b", "c"), ("a", "b", "c", "c"), ("a", "b", "c", "e")])
def test_a_priority_that_does_not_fit_the_graph(priority: tuple[str, ...]) -> None:
    with pytest.raises(gl.SolverError, match=r"each of the 4 operations of graph 'graph' once"):
        gl.solve(gl.LatencyProblem(FORK), gl.ListScheduling(priority=priority))


# ---- force-directed scheduling -----------------------------------------------------------------------------


class Reference:
    """Force-directed scheduling by the book: all sums over steps are written out, nothing is kept."""

    def __init__(self, graph: gl.Graph, horizon: int) -> None:
        self.graph = graph
        self.early, self.late = gl.asap(graph).copy(), gl.alap(graph, horizon).copy()
        self.steps = horizon + int(graph.occupancy.max())
        self.lags: dict[tuple[int, int], int] = {}
        for u, v, lag in zip(graph.src.tolist(), graph.dst.tolist(), graph.lag.tolist(), strict=True):
            self.lags[u, v] = max(lag, self.lags.get((u, v), 0))

    def usage(self, op: int, early: int, late: int) -> NDArray[np.float64]:
        usage = np.zeros(self.steps)
        for step in range(early, late + 1):
            usage[step : step + self.graph.occupancy[op]] += self.graph.weight[op] / (late - early + 1)
        return usage

    def change(self, op: int, early: int, late: int, levels: NDArray[np.float64]) -> float:
        """Return the load change with a frame cut, and a third of the changes of probability squared."""
        level = levels[self.graph.resource_index[op]]
        now = (self.early[op], self.late[op])
        force = (self.usage(op, early, late) - self.usage(op, *now)) @ level
        ahead = 1 / (late - early + 1) - 1 / (
            now[1] - now[0] + 1
        )  # sum of squared changes, for nested frames
        return float(force + ahead * self.graph.weight[op] ** 2 * self.graph.occupancy[op] / 3)

    def force(self, op: int, step: int, levels: NDArray[np.float64]) -> float:
        force = self.change(op, step, step, levels)
        for (u, v), lag in self.lags.items():
            if u == op and step + lag > self.early[v]:
                force += self.change(v, step + lag, self.late[v], levels)
            if v == op and step - lag < self.late[u]:
                force += self.change(u, self.early[u], step - lag, levels)
        return force

    def run(self) -> list[int]:
        movable = np.flatnonzero(self.early < self.late).tolist()
        while movable:
            levels = np.zeros((len(self.graph.resources), self.steps))
            for op in range(self.graph.n_ops):
                levels[self.graph.resource_index[op]] += self.usage(op, self.early[op], self.late[op])
            best = (np.inf, -1, -1)
            for op in movable:
                for step in range(self.early[op], self.late[op] + 1):
                    force = self.force(op, step, levels)
                    if force < best[0] - 1e-9 * self.graph.weight.max() ** 2:
                        best = (force, op, step)
            self.early[best[1]] = self.late[best[1]] = best[2]
            for u, v in sorted(self.lags, key=lambda edge: edge[0]) * self.graph.n_ops:
                self.early[v] = max(self.early[v], self.early[u] + self.lags[u, v])
                self.late[u] = min(self.late[u], self.late[v] - self.lags[u, v])
            movable = np.flatnonzero(self.early < self.late).tolist()
        return list(map(int, self.early))


@given(graphs(min_ops=1, max_ops=7), st.integers(0, 4))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_force_directed_is_what_the_definition_says(graph: gl.Graph, spare: int) -> None:
    problem = gl.ResourceProblem(graph, horizon=gl.critical_path_length(graph) + spare)
    result = gl.solve(problem, gl.ForceDirected(candidates=problem.graph.n_ops))
    assert problem.horizon is not None
    longest = np.maximum(graph.span, graph.occupancy)
    np.maximum.at(longest, graph.src, graph.lag)  # one operation after the other: more steps are not used
    assert schedule(result).start.tolist() == Reference(graph, min(problem.horizon, int(longest.sum()))).run()


def test_force_directed_levels_independent_operations() -> None:
    graph = gl.Graph.build([f"x{i}" for i in range(12)])
    result = gl.solve(gl.ResourceProblem(graph, horizon=4), gl.ForceDirected())
    assert objective(result) == 3


@pytest.mark.parametrize("candidates", [1, 5, None])
def test_force_directed_is_legal_with_few_candidates(candidates: int | None) -> None:
    graph = random_dag(120, seed=4)
    problem = gl.ResourceProblem(graph, horizon=2 * gl.critical_path_length(graph))
    result = gl.solve(problem, gl.ForceDirected(candidates=candidates))
    earliest = gl.solve(problem, gl.Asap())
    assert objective(result) < objective(earliest)


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_force_directed_finishes_early_when_stopped(steps: int) -> None:
    problem = gl.ResourceProblem(gl.load("ewf"), horizon=25)
    seen: list[int] = []
    result = gl.solve(
        problem, gl.ForceDirected(), stop=gl.MaxSteps(steps), watch=lambda run: seen.append(run.steps)
    )
    assert seen == list(range(1, steps + 1))
    assert gl.verify(problem, schedule(result)) == []


def test_force_directed_leaves_a_schedule_when_interrupted() -> None:
    def impatient(run: Run) -> None:
        if run.steps == 3:
            raise KeyboardInterrupt

    result = gl.solve(gl.ResourceProblem(gl.load("ewf"), horizon=25), gl.ForceDirected(), watch=impatient)
    assert result.status is gl.Status.FEASIBLE


def test_force_directed_cuts_a_horizon_beyond_all_needs() -> None:
    graph = gl.Graph.build(["a", "b", "c"], [("a", "b")])
    assert objective(gl.solve(gl.ResourceProblem(graph, horizon=2**42), gl.ForceDirected())) == 1


def test_force_directed_refuses_what_it_cannot_hold() -> None:
    graph = gl.Graph.build([{"name": "a", "latency": 2**40}, "b"])
    with pytest.raises(gl.SolverError, match=r"1 resources x 1099511627\d+ steps, more than 2\*\*24; choose"):
        gl.solve(gl.ResourceProblem(graph), gl.ForceDirected())
