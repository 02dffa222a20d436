"""Every exact quantity of a schedule, against a naive recomputation step by step from its definition."""

from __future__ import annotations

import tracemalloc
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import graphs
from test_graph import message

from gaus_lab.errors import ProblemError
from gaus_lab.exact import product, summable, total
from gaus_lab.graph import Graph
from gaus_lab.profile import fold, occupied
from gaus_lab.schedule import MAX_DENSE_STEPS, Schedule

pytestmark = pytest.mark.fast

STARTS = st.lists(st.integers(-7, 12), min_size=6, max_size=6)
IIS = st.none() | st.integers(1, 6)


# ---- the definitions, step by step ------------------------------------------------------------------------


def naive_usage(schedule: Schedule) -> dict[str, dict[int, int]]:
    graph = schedule.graph
    usage: dict[str, dict[int, int]] = {resource: defaultdict(int) for resource in graph.resources}
    for i in range(graph.n_ops):
        for d in range(schedule.start_of(i), schedule.start_of(i) + int(graph.occupancy[i])):
            step = d if schedule.ii is None else d % schedule.ii
            usage[graph.resources[graph.resource_index[i]]][step] += int(graph.weight[i])
    return usage


def naive_uses(schedule: Schedule) -> dict[int, list[int]]:
    """Return for each operation the steps, counted from its own iteration, in which its value is used."""
    graph, uses = schedule.graph, defaultdict(list)
    for u, v, distance in zip(graph.src.tolist(), graph.dst.tolist(), graph.distance.tolist(), strict=True):
        if schedule.ii is not None:
            uses[u].append(schedule.start_of(v) + distance * schedule.ii)
        elif distance == 0:
            uses[u].append(schedule.start_of(v))
    return uses


def naive_liveness(schedule: Schedule, hold_to: int | None) -> dict[int, int]:
    graph, uses, live = schedule.graph, naive_uses(schedule), defaultdict(int)
    for u in range(graph.n_ops):
        ends = uses[u] or ([] if hold_to is None else [hold_to])
        for d in range(schedule.start_of(u) + max(int(graph.latency[u]) - 1, 0), max(ends, default=-99)):
            live[d if schedule.ii is None else d % schedule.ii] += int(graph.bits[u])
    return live


def naive_communication(schedule: Schedule) -> int:
    graph, amount = schedule.graph, 0
    for e, (u, v) in enumerate(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)):
        if schedule.ii is not None or graph.distance[e] == 0:
            shift = int(graph.distance[e]) * (schedule.ii or 0)
            amount += int(graph.cost[e]) * (schedule.start_of(v) + shift - schedule.start_of(u))
    return amount


def as_dense(amounts: dict[int, int], length: int) -> list[int]:
    return [amounts.get(d, 0) for d in range(length)]


@settings(max_examples=400, deadline=None)
@given(graphs(max_distance=3, max_occupancy=9), STARTS, IIS, st.none() | st.integers(0, 20))
def test_all_quantities_by_the_definition(graph: Graph, starts, ii, hold_to) -> None:
    schedule = Schedule(graph, starts[: graph.n_ops], ii)
    usage, liveness = naive_usage(schedule), naive_liveness(schedule, hold_to)
    assert schedule.peak_usage == {r: max(amounts.values(), default=0) for r, amounts in usage.items()}
    assert schedule.footprint(hold_to) == max(liveness.values(), default=0)
    assert schedule.communication == naive_communication(schedule)
    pairs = [(dense.tolist(), usage[resource]) for resource, dense in schedule.usage().items()]
    for dense, amounts in [*pairs, (schedule.liveness(hold_to).tolist(), liveness)]:
        assert dense == as_dense(amounts, len(dense))
        assert all(step < len(dense) for step, amount in amounts.items() if amount)
        assert ii is None or len(dense) == ii
    ends = [schedule.start_of(i) + max(int(graph.latency[i]), 1) for i in range(graph.n_ops)]
    assert schedule.makespan == (max(ends) if ends else 0)
    for value in (schedule.communication, schedule.footprint(hold_to), *schedule.peak_usage.values()):
        assert type(value) is int


@settings(max_examples=200, deadline=None)
@given(graphs(max_distance=3, max_occupancy=9), STARTS, IIS, st.integers(-50, 50))
def test_nothing_but_the_makespan_changes_when_all_is_shifted(graph: Graph, starts, ii, shift: int) -> None:
    here = Schedule(graph, starts[: graph.n_ops], ii)
    there = Schedule(graph, here.start + shift, ii)
    assert there.peak_usage == here.peak_usage and there.footprint() == here.footprint()
    assert there.communication == here.communication
    if graph.n_ops:
        assert there.makespan == here.makespan + shift


@settings(max_examples=200, deadline=None)
@given(graphs(max_distance=2, max_occupancy=9), STARTS, st.integers(1, 6))
def test_the_unfolded_loop_settles_at_the_folded_quantities(graph: Graph, starts, ii: int) -> None:
    """Enough iterations after one another, laid out in time, have the usage and liveness of the folded schedule."""
    schedule = Schedule(graph, starts[: graph.n_ops], ii)
    copies, period = 16, 8 * ii
    window = range(period, period + ii)
    usage = {resource: defaultdict(int) for resource in graph.resources}
    single = Schedule(graph, starts[: graph.n_ops])
    for k in range(-copies, copies):
        for resource, amounts in naive_usage(single).items():
            for d, amount in amounts.items():
                usage[resource][d + k * ii] += amount
    for resource, dense in schedule.usage().items():
        assert [usage[resource][d] for d in window] == dense.tolist()


def test_slots_and_stages_of_negative_starts() -> None:
    schedule = Schedule(Graph.build("abcd"), [-4, -1, 0, 5], ii=3)
    assert schedule.slot.tolist() == [2, 2, 0, 2] and schedule.stage.tolist() == [-2, -1, 0, 1]
    assert (schedule.slot + 3 * schedule.stage).tolist() == [-4, -1, 0, 5]
    assert schedule.peak_usage == {"op": 3} and schedule.usage()["op"].tolist() == [1, 0, 3]
    plain = Schedule(Graph.build("ab"), [-2, 4])
    assert plain.slot.tolist() == [-2, 4] and plain.stage.tolist() == [0, 0]


def test_an_operation_longer_than_ii_meets_itself() -> None:
    graph = Graph.build([{"name": "d", "occupancy": 7, "weight": 2}])
    assert Schedule(graph, [0], ii=3).usage()["op"].tolist() == [6, 4, 4]
    assert Schedule(graph, [2], ii=3).usage()["op"].tolist() == [4, 4, 6]
    assert Schedule(graph, [5], ii=7).usage()["op"].tolist() == [2] * 7
    assert Schedule(graph, [5], ii=1).usage()["op"].tolist() == [14]


def test_liveness_of_latencies() -> None:
    ops = [{"name": "p", "latency": 3, "bits": 8}, "c", {"name": "z", "latency": 0, "bits": 4}]
    graph = Graph.build(ops, [("p", "c"), ("z", "c")])
    born, died = Schedule(graph, [0, 3, 3]).lifetimes()
    assert (born.tolist(), died.tolist()) == ([2, 3, 3], [3, 3, 3])
    assert Schedule(graph, [0, 3, 3]).liveness().tolist() == [0, 0, 8, 0]
    assert Schedule(graph, [0, 5, 3]).liveness().tolist() == [0, 0, 8, 12, 12, 0]
    assert Schedule(graph, [0, 5, 3]).footprint(hold_outputs_to=9) == 12
    assert Schedule(graph, [0, 5, 3]).liveness(hold_outputs_to=7).tolist() == [0, 0, 8, 12, 12, 1, 1]


def test_a_value_is_counted_once_however_many_consumers() -> None:
    graph = Graph.build([{"name": "a", "bits": 5}, "b", "c"], [("a", "b"), ("a", "c"), ("a", "c")])
    assert Schedule(graph, [0, 1, 4]).liveness().tolist() == [5, 5, 5, 5, 0]


def test_a_value_that_lives_longer_than_ii_counts_once_for_each_iteration() -> None:
    graph = Graph.build([{"name": "a", "bits": 5}, "b"], [{"src": "a", "dst": "b", "distance": 2}])
    schedule = Schedule(graph, [0, 1], ii=3)
    assert schedule.lifetimes()[1].tolist() == [7, 1]
    assert schedule.liveness().tolist() == [15, 10, 10] and schedule.communication == 7
    assert Schedule(graph, [0, 1]).footprint() == Schedule(graph, [0, 1]).communication == 0


def test_resources_shared_by_types() -> None:
    types = {"add": {"resource": "ALU"}, "sub": {"resource": "ALU"}}
    graph = Graph.build([{"name": t, "type": t} for t in ("add", "sub", "mul")], op_types=types)
    assert Schedule(graph, [0, 0, 0]).peak_usage == {"ALU": 2, "mul": 1}


def test_empty_graph() -> None:
    schedule = Schedule(Graph.build([]), [])
    assert (schedule.makespan, schedule.footprint(), schedule.communication, schedule.peak_usage) == (
        0,
        0,
        0,
        {},
    )
    assert schedule.usage() == {} and schedule.liveness().tolist() == [] and schedule.to_dict() == {}


def test_fractions_are_kept() -> None:
    graph = Graph.build(
        [{"name": "a", "weight": 0.5, "bits": 0.25}, "b"], [{"src": "a", "dst": "b", "cost": 1.5}]
    )
    schedule = Schedule(graph, [0, 2])
    assert (schedule.peak_usage, schedule.footprint(), schedule.communication) == ({"op": 1.0}, 0.25, 3.0)
    assert Schedule(graph, [0, 2], ii=1).peak_usage == {"op": 1.5}


# ---- far away and beyond 64 bits --------------------------------------------------------------------------


def far_apart() -> tuple[Graph, list[int]]:
    ops = [{"name": "a", "bits": 3, "occupancy": 2**39, "weight": 5}, {"name": "b", "weight": 4}, "c"]
    return Graph.build(ops, [("a", "b"), ("b", "c")]), [0, 2**38, 2**40]


def test_cost_does_not_depend_on_the_horizon() -> None:
    graph, start = far_apart()
    tracemalloc.start()
    schedule = Schedule(graph, start)
    assert (schedule.makespan, schedule.peak_usage, schedule.communication) == (2**40 + 1, {"op": 9}, 2**40)
    assert schedule.footprint() == 3 and schedule.footprint(2**41) == 3
    modulo = Schedule(graph, start, ii=2**37)
    assert modulo.peak_usage == {"op": 4 * 5 + 4 + 1} and modulo.footprint() == 2 * 3 + 6
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_dense_arrays_of_that_length_are_refused() -> None:
    graph, start = far_apart()
    for schedule in (Schedule(graph, start), Schedule(graph, start, ii=MAX_DENSE_STEPS + 1)):
        for dense in (schedule.usage, schedule.liveness):
            assert "steps are too many for an array; use the profiles" in message(ProblemError, dense)


@settings(max_examples=200, deadline=None)
@given(graphs(max_distance=3), STARTS, st.integers(1, 4), *[st.sampled_from([1, 2**20, 2**38])] * 2)
def test_exact_beyond_64_bits(graph: Graph, starts, ii: int, times: int, amounts: int) -> None:
    """With every distance and occupancy a multiple of a huge number, all counts follow in closed form."""
    scaled = {key: getattr(graph, key) * amounts for key in ("weight", "bits", "cost")}
    large = graph.replace(distance=graph.distance * times, occupancy=graph.occupancy * times * ii, **scaled)
    schedule = Schedule(large, starts[: graph.n_ops], ii)
    assert schedule.communication == naive_communication(schedule)
    for resource, peak in schedule.peak_usage.items():
        ops = large.ops_on(resource).tolist()
        assert peak == sum(int(large.weight[i]) * int(large.occupancy[i]) // ii for i in ops)
    lengths = [died - born for born, died in zip(*(a.tolist() for a in schedule.lifetimes()), strict=True)]
    uses = naive_uses(schedule)
    for u, length in enumerate(lengths):
        birth = schedule.start_of(u) + max(int(large.latency[u]) - 1, 0)
        assert length == max(0, max(uses[u], default=birth) - birth)
    assert sum(schedule.liveness().tolist()) == sum(
        int(bits) * length for bits, length in zip(large.bits, lengths, strict=True)
    )


def test_footprint_beyond_64_bits() -> None:
    ops = [{"name": "a", "bits": 2**42, "weight": 2**42, "occupancy": 2**42}, {"name": "b", "weight": 2**42}]
    edges = [{"src": "a", "dst": "b", "distance": 2**42, "cost": 2**42}]
    graph = Graph.build(ops, edges)
    schedule = Schedule(graph, [0, 2**42], ii=2**42)
    assert schedule.communication == 2**42 * (2**42 + 2**84)
    assert schedule.footprint() == 2**42 * (2**42 + 1)
    assert schedule.peak_usage == {"op": 2**43}
    tight = Schedule(graph, [0, 0], ii=1)
    assert tight.peak_usage == {"op": 2**84 + 2**42} and tight.footprint() == 2**84
    assert tight.usage()["op"].tolist() == [2**84 + 2**42] and tight.liveness().tolist() == [2**84]
    many = Graph.build([{"name": str(i), "weight": 2**30, "occupancy": 2**30} for i in range(17)])
    assert Schedule(many, [0] * 17, ii=1).peak_usage == {"op": 17 * 2**60}


NUMBERS = st.lists(st.integers(-(2**61), 2**61), max_size=5)


@given(NUMBERS, st.integers(0, 2**62))
def test_products_and_sums_are_exact(values: list[int], factor: int) -> None:
    array = np.array(values, dtype=np.int64)
    assert product(array, factor).tolist() == [value * factor for value in values]
    assert product(array, array).tolist() == [value * value for value in values]
    assert total(array) == sum(values) and type(total(array)) is int
    assert total(product(array, factor)) == sum(values) * factor
    assert np.cumsum(summable(array)).tolist() == np.cumsum(np.array(values, dtype=object)).tolist()


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9), st.integers(0, 4)), max_size=6),
    st.integers(1, 5),
)
def test_profiles(intervals, ii: int) -> None:
    begin, length, amount = (np.array([row[k] for row in intervals], dtype=np.int64) for k in range(3))
    counts: dict[int, int] = defaultdict(int)
    for b, n, a in intervals:
        for d in range(b, b + n):
            counts[d] += a
    profile = occupied(begin, begin + length, amount)
    assert profile.peak == max(counts.values(), default=0)
    assert profile.dense(20).tolist() == as_dense(counts, 20)
    assert all(counts[d] == 0 for d in range(max(profile.end, -20), 30))
    folded = fold(begin, begin + length, amount, ii)
    assert folded.dense(ii).tolist() == [
        sum(a for d, a in counts.items() if d % ii == slot) for slot in range(ii)
    ]
    assert folded.end <= ii


# ---- starts -----------------------------------------------------------------------------------------------


def test_starts_in_any_form() -> None:
    graph = Graph.build(["a", "b"])
    forms = [[1, 2], (1, 2), np.array([1, 2], dtype=np.int8), [1.0, 2.0], ["1", "2"], {"b": 2, "a": 1.0}]
    for form in forms:
        assert Schedule(graph, form).to_dict() == {"a": 1, "b": 2}
    own = np.array([1, 2])
    schedule = Schedule(graph, own)
    own[0] = 7
    assert schedule.start_of("a") == 1
    with pytest.raises(ValueError, match="read-only"):
        schedule.start[0] = 7
    assert repr(schedule) == "Schedule('graph', 2 operations, makespan 3)"
    assert repr(Schedule(graph, own, 4)) == "Schedule('graph', 2 operations, makespan 8, II 4)"


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ([1], "start must have shape (2,), one step per operation, got (1,)"),
        ([[1, 2]], "start must have shape (2,), one step per operation, got (1, 2)"),
        (None, "start must have shape (2,), one step per operation, got ()"),
        ([[0], [1, 2]], "start must have shape (2,), one step per operation, got [[0], [1, 2]]"),
        ([[0], 1], "start must have shape (2,), one step per operation, got [[0], 1]"),
        ([0, 1.5], "start of b must be an integer >= -4398046511104, got 1.5"),
        ([float("nan"), 0], "start of a must be an integer >= -4398046511104, got nan"),
        ([True, False], "start of a must be an integer >= -4398046511104, got True"),
        ([0, None], "start of b must be an integer >= -4398046511104, got None"),
        ([0, 2**42 + 1], "start of b must lie within +-2**42, got 4398046511105"),
        ([-(2**42) - 1, 0], "start of a must lie within +-2**42, got -4398046511105"),
        ([0, 2**70], "start of b must be <= 2**42, got 1180591620717411303424: choose a coarser unit"),
        (
            np.array([0, 2**64 - 1], dtype=np.uint64),
            "start of b must lie within +-2**42, got 18446744073709551615",
        ),
        (
            {"a": 0},
            "the schedule has no start for operation 'b'; it needs one start for each of 2 operations",
        ),
        (
            {"a": 0, "b": 1, "c": 2},
            "the schedule has an unknown operation 'c'; it needs one start for each of 2",
        ),
        ({"a": 0, "b": 0.5}, "start of b must be an integer >= -4398046511104, got 0.5"),
    ],
)
def test_bad_starts(start, expected: str) -> None:
    assert message(ProblemError, Schedule, Graph.build(["a", "b"]), start).startswith(expected)


@pytest.mark.parametrize("ii", [0, -1, 1.5, "x", True])
def test_bad_ii(ii) -> None:
    assert message(ProblemError, Schedule, Graph.build(["a"]), [0], ii).startswith("ii must be ")
