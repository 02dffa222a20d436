"""Earliest and latest starts, critical paths, and the bounds on ii, against hand cases and brute force."""

from __future__ import annotations

import itertools
import time

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from small_graphs import every_start, graphs
from test_graph import message

import gaus_lab as gl
from gaus_lab.analysis import check_horizon, path_text, resource_work
from gaus_lab.errors import ProblemError
from gaus_lab.graph import Graph

pytestmark = pytest.mark.fast


def ring(latencies: list[int], distances: list[int]) -> Graph:
    """A cycle of operations o0 -> o1 -> ... -> o0; the distances are those of the out-edges."""
    n = len(latencies)
    ops = [{"name": f"o{i}", "latency": latencies[i]} for i in range(n)]
    edges = [{"src": f"o{i}", "dst": f"o{(i + 1) % n}", "distance": distances[i]} for i in range(n)]
    return Graph.build(ops, edges)


def cycle_ratios(graph: Graph) -> list[tuple[int, int]]:
    """Return (lags, distances) of every simple cycle with every choice among parallel edges."""
    parallel: dict[tuple[int, int], list[int]] = {}
    for e, ends in enumerate(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)):
        parallel.setdefault(ends, []).append(e)
    ratios = []
    for cycle in nx.simple_cycles(nx.DiGraph(parallel.keys())):
        steps = zip(cycle, [*cycle[1:], cycle[0]], strict=True)
        for edges in itertools.product(*(parallel[step] for step in steps)):
            ratios.append((int(graph.lag[list(edges)].sum()), int(graph.distance[list(edges)].sum())))
    return ratios


# ---- starts and critical paths ----------------------------------------------------------------------------


def test_diamond() -> None:
    ops = [{"name": name, "latency": latency} for name, latency in zip("abcd", (2, 3, 1, 1), strict=True)]
    graph = Graph.build(ops, [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    assert gl.asap(graph).tolist() == [0, 2, 2, 5]
    assert gl.alap(graph, 6).tolist() == [0, 2, 4, 5]
    assert gl.alap(graph, 9).tolist() == [3, 5, 7, 8]
    assert gl.mobility(graph, 6).tolist() == [0, 0, 2, 0]
    assert gl.alap(graph, 5).tolist() == [-1, 1, 3, 4]
    assert [graph.ops[i] for i in gl.critical_path(graph)] == ["a", "b", "d"]
    assert gl.critical_path_length(graph) == 6


def test_edge_latency_counts_in_place_of_the_producers() -> None:
    graph = Graph.build(["A", "B"], [{"src": "A", "dst": "B", "latency": 10}, ("A", "B")])
    assert gl.asap(graph).tolist() == [0, 10] and gl.critical_path_length(graph) == 11
    assert gl.alap(graph, 20).tolist() == [9, 19]


def test_latency_0_needs_a_step_of_its_own_at_the_end_only() -> None:
    ops = [{"name": name, "latency": 0} for name in "abc"]
    graph = Graph.build(ops, [("a", "b"), ("b", "c")])
    assert gl.asap(graph).tolist() == [0, 0, 0] and gl.critical_path_length(graph) == 1
    assert gl.alap(graph, 1).tolist() == [0, 0, 0]
    assert [graph.ops[i] for i in gl.critical_path(graph)] == ["a"] or len(gl.critical_path(graph)) == 3


def test_carried_edges_count_with_ii_only() -> None:
    edges = [("a", "b"), {"src": "b", "dst": "c", "distance": 1, "latency": 7}]
    graph = Graph.build([{"name": "a", "latency": 4}, {"name": "b", "latency": 5}, "c"], edges)
    assert gl.asap(graph).tolist() == [0, 4, 0]
    assert gl.asap(graph, ii=3).tolist() == [0, 4, 8]
    assert gl.asap(graph, ii=20).tolist() == [0, 4, 0]
    assert gl.alap(graph, 12).tolist() == gl.alap(graph, 12, ii=3).tolist() == [3, 7, 11]
    assert gl.alap(graph, 12, ii=2).tolist() == [2, 6, 11]
    assert gl.critical_path_length(graph) == gl.critical_path_length(graph, ii=3) == 9
    assert gl.critical_path_length(graph, ii=2) == 10


def test_empty_and_single() -> None:
    empty, single = Graph.build([]), Graph.build([{"name": "z", "latency": 0}])
    assert gl.asap(empty).tolist() == gl.alap(empty, 0).tolist() == gl.critical_path(empty) == []
    assert gl.critical_path_length(empty) == 0 and gl.mii(empty) == 1
    assert gl.asap(single).tolist() == [0] and gl.alap(single, 3).tolist() == [2]
    assert gl.critical_path(single) == [0] and gl.critical_path_length(single) == 1


@settings(max_examples=120, deadline=None)
@given(graphs(max_ops=4, max_edges=6, max_latency=2), st.integers(0, 2))
def test_windows_are_the_extremes_of_all_schedules(graph: Graph, slack: int) -> None:
    length = gl.critical_path_length(graph)
    assert not any(every_start(graph, length - 1))
    assume(length + slack <= 7)
    starts = np.array(list(every_start(graph, length + slack)))
    if graph.n_ops:
        assert gl.asap(graph).tolist() == starts.min(axis=0).tolist()
        assert gl.alap(graph, length + slack).tolist() == starts.max(axis=0).tolist()


@settings(max_examples=120, deadline=None)
@given(graphs(max_ops=3, max_edges=5, max_latency=2, max_distance=2), st.integers(1, 3), st.integers(0, 1))
def test_windows_with_ii_are_the_extremes_of_all_schedules(graph: Graph, ii: int, slack: int) -> None:
    if ii < gl.rec_mii(graph):
        assert not any(every_start(graph, 12, ii))
        for windows in (gl.asap, lambda g, ii: gl.alap(g, 9, ii)):
            assert f"II {ii} breaks the recurrence" in message(ProblemError, windows, graph, ii=ii)
        return
    length = gl.critical_path_length(graph, ii)
    assert not any(every_start(graph, length - 1, ii))
    starts = np.array(list(every_start(graph, length + slack, ii)))
    if graph.n_ops:
        assert gl.asap(graph, ii).tolist() == starts.min(axis=0).tolist()
        assert gl.alap(graph, length + slack, ii).tolist() == starts.max(axis=0).tolist()


@settings(max_examples=200, deadline=None)
@given(graphs(max_ops=7, max_edges=14))
def test_critical_path_is_a_path_of_that_length(graph: Graph) -> None:
    path = gl.critical_path(graph)
    longest = {
        (u, v): max(graph.lag[(graph.src == u) & (graph.dst == v)].tolist())
        for u, v in zip(graph.src.tolist(), graph.dst.tolist(), strict=True)
    }
    length = sum(longest[step] for step in itertools.pairwise(path))
    assert length + (graph.span[path[-1]] if path else 0) == gl.critical_path_length(graph)


def test_path_text_leaves_out_the_middle() -> None:
    graph = Graph.build([str(i) for i in range(9)])
    assert path_text(graph, [0, 1, 2]) == "0 -> 1 -> 2"
    assert path_text(graph, list(range(9))) == "0 -> 1 -> 2 -> ... -> 6 -> 7 -> 8"


def test_check_horizon() -> None:
    graph = Graph.build(["a", "b"], [("a", "b"), {"src": "b", "dst": "a", "distance": 1}])
    assert check_horizon(graph, 2) is check_horizon(graph, 2, ii=2) is None
    need = "the horizon is 1 steps, the dependences need 2"
    assert check_horizon(graph, 1) == f"{need} along a -> b; use a horizon of 2 or more"
    assert check_horizon(graph, 1, ii=2) == f"{need}; use a horizon of 2 or more"
    assert "II 1 breaks the recurrence" in str(check_horizon(graph, 5, ii=1))


@pytest.mark.parametrize("value", [-1, 0, 1.5, True, "x", float("nan"), 2**43])
def test_arguments_are_integers(value) -> None:
    graph = ring([1, 1], [0, 1])
    assert message(ProblemError, gl.asap, graph, ii=value).startswith("ii must be ")
    assert message(ProblemError, gl.alap, graph, 5, ii=value).startswith("ii must be ")
    if value != 0:
        assert message(ProblemError, gl.alap, graph, value).startswith("horizon must be ")
    assert gl.asap(graph, ii=np.int64(2)).tolist() == gl.asap(graph, ii=2.0).tolist() == [0, 1]


# ---- the recurrence bound ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("latencies", "distances", "bound"),
    [
        ([8], [1], 8),
        ([7], [3], 3),
        ([9], [3], 3),
        ([4, 3], [0, 3], 3),
        ([1, 1], [0, 1], 2),
        ([1, 2, 3], [1, 1, 1], 2),
        ([0, 0], [0, 1], 0),
        ([1, 0], [5, 7], 1),
        ([2**42], [1], 2**42),
        ([2**41, 2**41, 2**41], [0, 1, 1], 3 * 2**40),
        ([2**42, 1], [2**42, 0], 2),
        ([1], [2**42], 1),
    ],
)
def test_rec_mii_of_a_ring(latencies, distances, bound: int) -> None:
    graph = ring(latencies, distances)
    assert gl.rec_mii(graph) == bound
    if bound > 1:
        for windows in (gl.asap, lambda g, ii: gl.alap(g, 1, ii)):
            assert f"needs II >= {bound}" in message(ProblemError, windows, graph, ii=bound - 1)
    assert gl.asap(graph, ii=max(bound, 1)).min() == 0


def test_rec_mii_takes_the_worst_cycle_and_the_worst_parallel_edge() -> None:
    slow = [{"src": "A", "dst": "B", "latency": latency} for latency in (4, 6)]
    rest = [{"src": "B", "dst": "C", "latency": 3}, {"src": "C", "dst": "A", "latency": 2, "distance": 1}]
    for parallel in (slow, slow[::-1]):
        assert gl.rec_mii(Graph.build("ABC", parallel + rest)) == 11
    distances = [
        {"src": "x", "dst": "x", "distance": d, "latency": lag} for d, lag in [(1, 3), (2, 8), (3, 9)]
    ]
    assert gl.rec_mii(Graph.build("x", distances)) == 4


def test_rec_mii_without_a_cycle() -> None:
    carried = [("a", "b"), {"src": "a", "dst": "b", "distance": 1, "latency": 9}]
    assert gl.rec_mii(Graph.build("ab", carried)) == 0
    assert gl.rec_mii(Graph.build("ab", [("a", "b")])) == gl.rec_mii(Graph.build([])) == 0


@settings(max_examples=300, deadline=None)
@given(graphs(min_ops=1, max_ops=5, max_edges=9, max_distance=3, max_latency=9))
def test_rec_mii_is_the_largest_ratio_of_all_cycles(graph: Graph) -> None:
    assert gl.rec_mii(graph) == max((-(-lags // d) for lags, d in cycle_ratios(graph)), default=0)


@settings(max_examples=150, deadline=None)
@given(
    graphs(min_ops=1, max_ops=5, max_edges=9, max_distance=3),
    st.lists(st.sampled_from([0, 1, 2**20, 2**41, 2**42 - 1]), min_size=9, max_size=9),
    st.sampled_from([1, 2**21, 2**40]),
)
def test_rec_mii_with_huge_latencies_and_distances(graph: Graph, lags: list[int], scale: int) -> None:
    graph = graph.replace(edge_latency=lags[: graph.n_edges], distance=graph.distance * scale)
    bound = gl.rec_mii(graph)
    assert bound == max((-(-lag // d) for lag, d in cycle_ratios(graph)), default=0)
    if bound <= 2**42:
        starts = gl.asap(graph, max(bound, 1)).tolist()
        for e, (u, v) in enumerate(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)):
            assert starts[u] + int(graph.lag[e]) <= starts[v] + int(graph.distance[e]) * max(bound, 1)


@settings(max_examples=150, deadline=None)
@given(graphs(min_ops=1, max_ops=5, max_edges=9, max_distance=3, max_latency=9))
def test_ii_below_rec_mii_names_a_cycle_that_it_breaks(graph: Graph) -> None:
    ii = gl.rec_mii(graph) - 1
    assume(ii >= 1)
    for windows in (gl.asap, lambda g, ii: gl.alap(g, 99, ii)):
        text = message(ProblemError, windows, graph, ii=ii)
        path, rest = text.removeprefix(f"II {ii} breaks the recurrence ").split(": its lags sum to ")
        names = path.split(" -> ")
        assert names[0] == names[-1] and len(set(names)) == len(names) - 1
        edges = set(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
        assert {(graph.index(u), graph.index(v)) for u, v in itertools.pairwise(names)} <= edges
        lags, distances = (int(rest.split()[k]) for k in (0, 2))
        assert (lags, distances) in cycle_ratios(graph) and lags > ii * distances
        assert rest.endswith(f"needs II >= {-(-lags // distances)}")


def diamond_chain(count: int) -> Graph:
    """A loop through a chain of diamonds: 2**count cycles, the longest through every b."""
    ops = [{"name": f"d{i}"} for i in range(count + 1)]
    ops += [{"name": f"{x}{i}", "latency": lag} for i in range(count) for x, lag in (("a", 1), ("b", 2))]
    sides = [
        (u, v)
        for i in range(count)
        for x in "ab"
        for u, v in ((f"d{i}", f"{x}{i}"), (f"{x}{i}", f"d{i + 1}"))
    ]
    return Graph.build(ops, [*sides, {"src": f"d{count}", "dst": "d0", "distance": 1}])


@pytest.mark.parametrize("count", [1, 40, 4000])
def test_rec_mii_does_not_enumerate_cycles(count: int) -> None:
    begin = time.perf_counter()
    assert gl.rec_mii(diamond_chain(count)) == 3 * count + 1
    assert time.perf_counter() - begin < 2


def test_long_recurrence_in_a_message_is_cut() -> None:
    text = message(ProblemError, gl.asap, ring([1] * 50, [0] * 49 + [1]), ii=49)
    assert " -> ...: its lags sum to 50 over 1 iterations, which needs II >= 50" in text and len(text) < 200


def test_many_parallel_edges_do_not_hide_a_cycle() -> None:
    for count in (255, 256, 257, 512):
        graph = Graph.build("ab", [("a", "b")] * count + [{"src": "b", "dst": "a", "distance": 1}])
        assert gl.rec_mii(graph) == 2


def test_many_carried_edges_take_few_rounds() -> None:
    n = 3000
    names = [f"s{i}" for i in range(n)]
    edges = [{"src": names[i], "dst": names[(i + 1) % n], "distance": 1, "latency": i % 5} for i in range(n)]
    begin = time.perf_counter()
    assert gl.rec_mii(Graph.build(names, edges)) == 2
    assert time.perf_counter() - begin < 5


# ---- the resource bound -----------------------------------------------------------------------------------


def test_res_mii_hand_cases() -> None:
    five = Graph.build([{"name": f"m{i}", "type": "M"} for i in range(5)], limits={"M": 2, "unused": 1})
    assert gl.res_mii(five) == gl.mii(five) == 3
    assert gl.res_mii(five, {}) == 0 and gl.mii(five, {}) == 1
    assert gl.res_mii(five, {"M": 1}) == 5
    busy = Graph.build([{"name": str(i), "occupancy": 30, "weight": 2} for i in range(8)])
    assert gl.res_mii(busy, {"op": 2}) == 240 and gl.res_mii(busy, {"op": 7}) == 69
    assert gl.res_mii(busy.replace(occupancy=0), {"op": 2}) == 0
    shared = Graph.build([{"name": "a", "type": "add"}, {"name": "s", "type": "sub"}])
    shared = shared.replace(resource_of_type={"add": "ALU", "sub": "ALU"})
    assert gl.res_mii(shared, {"ALU": 1}) == 2 and gl.res_mii(shared, {"add": 1}) == 0


def test_mii_is_the_larger_of_the_two() -> None:
    graph = Graph.build(
        [{"name": "A", "latency": 2}, {"name": "B", "latency": 2}],
        [("A", "B"), {"src": "B", "dst": "A", "distance": 2}],
    )
    assert (gl.rec_mii(graph), gl.res_mii(graph, {"op": 1}), gl.mii(graph, {"op": 1})) == (2, 2, 2)


@settings(max_examples=100, deadline=None)
@given(graphs(max_ops=6), st.dictionaries(st.sampled_from(["mul", "add", "x"]), st.integers(1, 3)))
def test_res_mii_by_the_definition(graph: Graph, limits: dict[str, int]) -> None:
    work = dict.fromkeys(("mul", "add"), 0)
    for i in range(graph.n_ops):
        work[graph.type_of(i)] += int(graph.weight[i] * graph.occupancy[i])
    assert resource_work(graph) == {t: work[t] for t in graph.types}
    expected = max((-(-work[t] // limits[t]) for t in graph.types if t in limits), default=0)
    assert gl.res_mii(graph, limits) == expected


def test_res_mii_beyond_64_bits() -> None:
    graph = Graph.build([{"name": "a", "weight": 2**42, "occupancy": 2**42}, "b"])
    assert gl.res_mii(graph, {"op": 1}) == 2**84 + 1
    assert gl.res_mii(graph, {"op": 2**42}) == 2**42 + 1
    many = Graph.build([{"name": str(i), "weight": 2**30, "occupancy": 2**30} for i in range(9)])
    assert gl.res_mii(many, {"op": 1}) == 9 * 2**60


@pytest.mark.parametrize("units", [0, -1, 1.5, None, True])
def test_res_mii_refuses_a_limit_that_is_none(units) -> None:
    graph = Graph.build(["a"])
    assert message(ProblemError, gl.res_mii, graph, {"op": units}).startswith("limit of op must be ")
    assert message(ProblemError, gl.mii, graph, {"op": units}).startswith("limit of op must be ")
    assert gl.res_mii(graph, {"other": units}) == 0
