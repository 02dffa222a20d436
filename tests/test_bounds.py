"""Lower bounds: never above the optimum that brute force finds, and equal to it on known cases."""

from __future__ import annotations

import itertools
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from small_graphs import every_start, graphs

import gaus_lab as gl
from gaus_lab import bounds, constraints, difference_bound
from gaus_lab.graph import Graph
from gaus_lab.problem import FootprintProblem, LatencyProblem, ModuloProblem, Problem, ResourceProblem
from gaus_lab.schedule import Schedule

pytestmark = pytest.mark.fast

LIMITS = st.dictionaries(st.sampled_from(["mul", "add"]), st.integers(3, 5))


def optimum(problem: Problem, horizon: int) -> int | None:
    """Return the least objective over all legal schedules, None if there is none."""
    values = (
        problem.objective(schedule)
        for start in every_start(problem.graph, horizon, problem.interval)
        if not constraints.capacity(schedule := problem.schedule(start), problem.limits)
    )
    return min(values, default=None)


# ---- never above the optimum ------------------------------------------------------------------------------


@settings(max_examples=120, deadline=None)
@given(graphs(max_ops=4, max_edges=6, max_latency=2), st.integers(0, 2), st.integers(0, 3), st.integers(0, 3))
def test_resource_bound(graph: Graph, slack: int, usage: int, communication: int) -> None:
    horizon = gl.critical_path_length(graph) + slack
    assume(horizon <= 7)
    problem = ResourceProblem(graph, horizon, {}, usage, communication)
    assert problem.bound() <= optimum(problem, horizon)


@settings(max_examples=120, deadline=None)
@given(graphs(max_ops=4, max_edges=6, max_latency=2), st.integers(0, 2), st.booleans())
def test_footprint_bound(graph: Graph, slack: int, hold: bool) -> None:
    horizon = gl.critical_path_length(graph) + slack
    assume(horizon <= 7)
    problem = FootprintProblem(graph, horizon, {}, hold_outputs=hold)
    assert problem.bound() <= optimum(problem, horizon)


@settings(max_examples=120, deadline=None)
@given(graphs(max_ops=3, max_edges=5, max_latency=2, max_distance=2), st.integers(0, 2), st.booleans())
def test_modulo_footprint_bound(graph: Graph, extra: int, hold: bool) -> None:
    ii = gl.mii(graph) + extra
    horizon = gl.critical_path_length(graph, ii) + 2
    assume(horizon <= 9)
    problem = ModuloProblem(graph, horizon, {}, ii=ii, hold_outputs=hold)
    assert problem.bound() <= optimum(problem, horizon)


@settings(max_examples=150, deadline=None)
@given(graphs(max_ops=4, max_edges=5, max_latency=2), LIMITS)
def test_makespan_bound(graph: Graph, limits: dict[str, int]) -> None:
    limits = {resource: units for resource, units in limits.items() if resource in graph.resources}
    problem = LatencyProblem(graph, limits=limits)
    best = optimum(problem, min(gl.critical_path_length(graph) + 4, 8))
    assert best is None or problem.bound() <= best


@settings(max_examples=150, deadline=None)
@given(
    graphs(max_ops=4, max_edges=6, max_latency=2),
    st.integers(0, 2),
    st.integers(0, 1),
    st.sampled_from([ResourceProblem, FootprintProblem, LatencyProblem]),
)
def test_infeasible_means_that_there_is_no_schedule(
    graph: Graph, slack: int, short: int, kind: type[Problem]
) -> None:
    horizon = max(gl.critical_path_length(graph) + slack - short, 0)
    assume(horizon <= 6)
    limits = dict.fromkeys(graph.resources, 2)
    problem = kind(graph, horizon, limits)
    if problem.infeasibility():
        assert optimum(problem, horizon) is None


@settings(max_examples=150, deadline=None)
@given(graphs(max_ops=3, max_edges=5, max_latency=2, max_distance=2), st.integers(1, 4), st.integers(1, 8))
def test_infeasible_modulo_means_that_there_is_no_schedule(graph: Graph, ii: int, horizon: int) -> None:
    problem = ModuloProblem(graph, horizon, dict.fromkeys(graph.resources, 3), ii=ii)
    if problem.infeasibility():
        assert optimum(problem, horizon) is None


# ---- tight on known cases ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("ops", "horizon", "peak"), [(6, 4, 2), (6, 6, 1), (6, 1, 6), (7, 3, 3), (0, 3, 0)])
def test_peak_of_independent_operations(ops: int, horizon: int, peak: int) -> None:
    graph = Graph.build([str(i) for i in range(ops)])
    assert bounds.peak_bound(graph, horizon) == ({"op": peak} if ops else {})


def test_peak_of_a_narrow_interval() -> None:
    ops = ["s", *"abcd", {"name": "t", "latency": 8, "type": "other"}]
    graph = Graph.build(ops, [("s", x) for x in "abcd"] + [(x, "t") for x in "abcd"])
    assert bounds.peak_bound(graph, 11) == {"op": 2, "other": 1}
    assert bounds.peak_bound(graph, 10) == {"op": 4, "other": 1}


def test_peak_of_compulsory_parts() -> None:
    graph = Graph.build([{"name": x, "latency": 3, "occupancy": 3} for x in "ab"])
    assert bounds.peak_bound(graph, 4) == bounds.peak_bound(graph, 5) == {"op": 2}
    assert bounds.peak_bound(graph, 6) == {"op": 1}
    heavy = Graph.build([{"name": "a", "weight": 9}, "b"])
    assert bounds.peak_bound(heavy, 50) == {"op": 9}


def test_peak_of_operations_that_use_nothing() -> None:
    graph = Graph.build([{"name": "a", "weight": 0}, {"name": "b", "occupancy": 0}])
    assert bounds.peak_bound(graph, 1) == {"op": 0}
    assert bounds.makespan_bound(graph, {"op": 1}) == 1


def test_communication_of_a_triangle_and_of_a_fork() -> None:
    triangle = Graph.build("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    assert bounds.communication_bound(triangle, 9) == 4
    ops = [{"name": "a"}, {"name": "long", "latency": 9}, {"name": "join"}]
    edges = [{"src": "a", "dst": "join", "cost": 5}, {"src": "long", "dst": "join", "cost": 0}]
    assert bounds.communication_bound(Graph.build(ops, edges), 10) == 5
    forced = [
        {"src": "a", "dst": "long", "cost": 1},
        {"src": "a", "dst": "join", "cost": 5},
        ("long", "join"),
    ]
    assert bounds.communication_bound(Graph.build(ops, forced), 11) == 1 + 50 + 9
    assert bounds.communication_bound(Graph.build("ab"), 5) == 0


@settings(max_examples=100, deadline=None)
@given(graphs(max_ops=4, max_edges=6, max_latency=2), st.integers(0, 2))
def test_least_communication_is_met(graph: Graph, slack: int) -> None:
    horizon = gl.critical_path_length(graph) + slack
    assume(horizon <= 7)
    best = min(Schedule(graph, start).communication for start in every_start(graph, horizon))
    assert bounds.communication_bound(graph, horizon) == best


def test_communication_bound_is_valid_whatever_the_solver_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.build("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    for flow in ([0, 0, 0], [9, 9, 9], [5, 0, 1], [1, 1, 1]):
        monkeypatch.setattr(difference_bound, "_dual_flow", lambda *_, flow=flow: np.array(flow))
        assert bounds.communication_bound(graph, 9) <= 4
    monkeypatch.setattr(difference_bound, "_dual_flow", lambda *_: None)
    assert bounds.communication_bound(graph, 9) == 3
    monkeypatch.setattr(difference_bound, "MAX_DIFFERENCES", 2)
    monkeypatch.setattr(difference_bound, "_dual_flow", None)
    assert bounds.communication_bound(graph, 9) == 3


def test_footprint_of_operands_and_of_compulsory_lives() -> None:
    ops = [{"name": x, "bits": 10 ** "abcj".index(x)} for x in "abcj"]
    graph = Graph.build(ops, [("a", "j"), ("b", "j"), ("b", "j"), ("c", "j")])
    assert bounds.footprint_bound(graph, 40) == 111
    ops = [{"name": "v", "bits": 7}, {"name": "w", "latency": 4, "bits": 0}, "x"]
    held = Graph.build(ops, [("v", "x"), ("w", "x")])
    assert FootprintProblem(held).bound() == 7
    ops = [{"name": "a", "bits": 3}, {"name": "b", "bits": 4}, "c", "d", "e"]
    lives = Graph.build(ops, [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("b", "e"), ("d", "e")])
    assert FootprintProblem(lives).bound() == 3 + 4 + 1


@settings(max_examples=150, deadline=None)
@given(
    graphs(min_ops=1, max_ops=4, max_edges=5, max_latency=2, max_distance=2),
    st.integers(1, 4),
    st.integers(0, 2),
)
def test_modulo_peaks_are_at_least_the_bound(graph: Graph, ii: int, slack: int) -> None:
    assume(gl.rec_mii(graph) <= ii)
    horizon = gl.critical_path_length(graph, ii) + slack
    assume(horizon <= 7)
    forced = bounds.modulo_peak_bound(graph, horizon, ii)
    for start in every_start(graph, horizon, ii):
        peaks = Schedule(graph, start, ii=ii).peak_usage
        assert all(forced[resource] <= peaks[resource] for resource in graph.resources)


def test_modulo_peaks_around_the_turn() -> None:
    """Two operations whose windows meet only modulo the II, and one that is busy for more than a turn."""
    ops = [{"name": "a", "latency": 3}, {"name": "b"}, {"name": "c"}]
    graph = Graph.build(ops, [("a", "b")])
    assert bounds.modulo_peak_bound(graph, 4, 3) == {"op": 2}
    assert bounds.modulo_peak_bound(Graph.build([{"name": "a", "occupancy": 5, "latency": 5}]), 5, 2) == {
        "op": 3
    }


def summed_lifetimes(schedule: Schedule) -> int:
    """Return bits times boundaries over all values with consumers, counted value by value."""
    graph, ii, result = schedule.graph, schedule.ii or 0, 0
    for op in range(graph.n_ops):
        uses = [
            int(schedule.start[dst]) + int(distance) * ii
            for src, dst, distance in zip(graph.src, graph.dst, graph.distance, strict=True)
            if src == op
        ]
        born = int(schedule.start[op]) + max(int(graph.latency[op]) - 1, 0)
        result += int(graph.bits[op]) * max([use - born for use in uses] + [0])
    return result


@settings(max_examples=100, deadline=None)
@given(graphs(max_ops=4, max_edges=6, max_latency=2), st.integers(0, 2))
def test_least_summed_lifetimes_are_met(graph: Graph, slack: int) -> None:
    horizon = gl.critical_path_length(graph) + slack
    assume(horizon <= 7)
    best = min(summed_lifetimes(Schedule(graph, start)) for start in every_start(graph, horizon))
    assert bounds.lifetime_bound(graph, horizon) == best


@settings(max_examples=60, deadline=None)
@given(graphs(max_ops=4, max_edges=6, max_latency=2, max_distance=2), st.integers(0, 3))
def test_least_summed_lifetimes_of_loops_are_met(graph: Graph, slack: int) -> None:
    ii = gl.mii(graph) + slack % 2
    assume(ii > 0)
    problem = ModuloProblem(graph, ii=ii)
    assume(problem.infeasibility() is None and problem.horizon <= 6)
    starts = every_start(graph, problem.horizon, ii)
    best = min((summed_lifetimes(Schedule(graph, start, ii=ii)) for start in starts), default=0)
    assert bounds.lifetime_bound(graph, problem.horizon, ii) <= best


def test_modulo_footprint_of_long_lives() -> None:
    edges = [{"src": "a", "dst": "b", "distance": 1, "latency": 7}]
    graph = Graph.build([{"name": "a", "bits": 2}, "b"], edges)
    assert bounds.modulo_footprint_bound(graph, 2) == 7
    assert bounds.modulo_footprint_bound(graph, 3) == 5
    assert bounds.modulo_footprint_bound(graph, 50) == 2


@pytest.mark.parametrize(
    ("ops", "limit", "steps"),
    [
        ([{"name": str(i)} for i in range(5)], 1, 5),
        ([{"name": str(i)} for i in range(5)], 2, 3),
        ([{"name": x, "occupancy": 5} for x in "AB"], 1, 6),
        ([{"name": x, "occupancy": n, "latency": n} for x, n in [("a", 3), ("b", 2), ("c", 4)]], 2, 5),
        ([{"name": "A", "latency": 3, "occupancy": 3}, {"name": "Z", "latency": 0, "occupancy": 0}], 1, 3),
        ([{"name": x, "weight": 2} for x in "abc"], 3, 2),
    ],
)
def test_makespan_of_work_over_units(ops, limit: int, steps: int) -> None:
    assert bounds.makespan_bound(Graph.build(ops), {"op": limit}) == steps


def test_makespan_with_head_and_tail() -> None:
    ops = [{"name": "s", "type": "io", "latency": 2}, *[{"name": f"m{i}", "type": "M"} for i in range(6)]]
    ops.append({"name": "t", "type": "io", "latency": 3})
    graph = Graph.build(ops, [e for i in range(6) for e in (("s", f"m{i}"), (f"m{i}", "t"))])
    assert bounds.makespan_bound(graph, {"M": 2, "io": 9}) == 2 + 3 + 3
    assert bounds.makespan_bound(graph, {"M": 1}) == 2 + 6 + 3
    assert bounds.makespan_bound(graph, {}) == 6


# ---- large numbers, long horizons -------------------------------------------------------------------------


def test_bounds_beyond_64_bits() -> None:
    huge = {"weight": 2**42, "occupancy": 2**42, "bits": 2**42}
    graph = Graph.build(
        [{"name": x, **huge} for x in "abc"], [{"src": "a", "dst": "b", "cost": 2**42, "latency": 2**40}]
    )
    assert bounds.peak_bound(graph, 2**40 + 1) == {"op": 3 * 2**42}
    assert bounds.peak_bound(graph, 2**42) == {"op": 3 * 2**42}
    assert bounds.makespan_bound(graph, {"op": 2**42}) == 2 * 2**42 + 1
    assert bounds.makespan_bound(graph, {"op": 1}) == 3 * 2**84 - 2**42 + 1
    assert bounds.communication_bound(graph, 2**42) == 2**82
    assert bounds.modulo_footprint_bound(graph, 1) == 2**82
    problem = ResourceProblem(graph, 2**42, resource_weights=2**42, communication_weight=2**42)
    assert problem.bound() == 2**42 * 3 * 2**42 + 2**42 * 2**82
    early = problem.schedule(gl.asap(graph))
    assert problem.objective(early) == problem.bound()


@settings(max_examples=60, deadline=None)
@given(
    graphs(max_ops=4, max_edges=6, max_latency=2),
    st.lists(st.sampled_from([0, 1, 2**21, 2**42]), min_size=6, max_size=6),
    st.sampled_from([0, 1, 2**20, 2**41]),
)
def test_communication_of_very_different_costs(graph: Graph, costs: list[int], slack: int) -> None:
    """Costs whose small ones vanish next to the large ones in floating point."""
    graph = graph.replace(cost=costs[: graph.n_edges])
    length = gl.critical_path_length(graph)
    assume(length <= 5)
    bound = bounds.communication_bound(graph, length + slack)
    best = min(Schedule(graph, start).communication for start in every_start(graph, min(length + slack, 6)))
    assert bound <= best


def test_cost_does_not_grow_with_the_horizon() -> None:
    rng = np.random.default_rng(0)
    names = [f"v{i}" for i in range(300)]
    edges = [
        (names[u], names[v]) for v in range(1, 300) for u in set(rng.integers(max(0, v - 20), v, 2).tolist())
    ]
    graph = Graph.build(names, edges)
    length = gl.critical_path_length(graph)

    def cost(horizon: int) -> tuple[float, int]:
        tracemalloc.start()
        begin = time.perf_counter()
        for problem in (
            ResourceProblem(graph, horizon, communication_weight=1),
            FootprintProblem(graph, horizon),
        ):
            problem.bound()
            assert problem.infeasibility() is None
        seconds, peak = time.perf_counter() - begin, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return seconds, peak

    cost(length)
    seconds, memory = cost(2 * length)
    far_seconds, far_memory = cost(2**42)
    assert far_memory < 2 * memory + 2**20
    assert far_seconds < 10 * seconds + 0.5


def test_many_interval_begins_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"v{i}" for i in range(40)]
    graph = Graph.build(names, list(itertools.pairwise(names)))
    full = bounds.peak_bound(graph, 60)
    monkeypatch.setattr(bounds, "MAX_INTERVAL_BEGINS", 5)
    assert bounds.peak_bound(graph, 60) == full == {"op": 1}
