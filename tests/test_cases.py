"""Faults that other schedulers, solvers and file readers have had, as instances with their right answers.

The instances are no part of the project; they are read from ``../cases/cases.json`` beside the data folder. Their
conventions differ from ours in a few places, and are converted here, each conversion with its reason.
"""

from __future__ import annotations

import base64
import json
import os
import time
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_graphs import first_start

import gaus_lab as gl
from gaus_lab import constraints
from gaus_lab.errors import GausLabError, GausLabWarning, ProblemError
from gaus_lab.files import loads
from gaus_lab.graph import Graph
from gaus_lab.problem import LatencyProblem, ModuloProblem, ResourceProblem
from gaus_lab.schedule import Schedule

Case = dict[str, Any]

#: Kinds and features that the project does not have, or that other tests cover: shown as one skip each.
OTHERS = {
    "chaining": "delays inside a clock cycle are not modelled",
    "chaining_modulo": "delays inside a clock cycle are not modelled",
    "memory_order": "memory of a sequential order is not modelled; liveness counts step boundaries",
    "notebook": "pictures and notebooks have tests of their own",
    "property": "sentences about whole solvers; see test_cases_property",
    "fixed": "starts that the problem fixes are not modelled",
}


def label(case: Case) -> str:
    """Return the feature of `OTHERS` that a case needs, else its kind."""
    return "fixed" if case["kind"] == "dag" and "fixed" in case["input"] else case["kind"]


def read_cases() -> list[Case]:
    folder = os.environ.get("GAUS_LAB_DATA")
    path = Path(folder).parent / "cases" / "cases.json" if folder else None
    return json.loads(path.read_text(encoding="utf-8"))["cases"] if path and path.is_file() else []


CASES = read_cases()
ABSENT = "GAUS_LAB_DATA names no folder with ../cases/cases.json beside it"


def each(kind: str, *answers: str) -> pytest.MarkDecorator:
    """Parametrize a test by the cases of a kind that have one of some answers; one skip if the file is absent."""
    chosen = [
        pytest.param(case, id=case["id"])
        for case in CASES
        if label(case) == kind and (not answers or set(answers) & case["expected"].keys())
    ]
    absent = pytest.param({}, id="absent", marks=pytest.mark.skip(reason=ABSENT))
    return pytest.mark.parametrize("case", chosen or [absent])


def as_graph(case: Case) -> Graph:
    given = case["input"].get("graph", case["input"])
    if given.get("generator") == "diamond_chain":
        return diamond_chain(given["t"])
    # A plain list of nodes, or name -> {lat, type, busy, bits}.
    nodes = given["nodes"] if isinstance(given["nodes"], dict) else {name: {} for name in given["nodes"]}
    names = {"lat": "latency", "busy": "occupancy", "dist": "distance", "type": "type", "bits": "bits"}
    ops = [
        {"name": name} | {names[key]: value for key, value in data.items()} for name, data in nodes.items()
    ]
    edges = [
        {"src": src, "dst": dst} | {names[key]: value for key, value in (data[0] if data else {}).items()}
        for src, dst, *data in given["edges"]
    ]
    return Graph.build(ops, edges, name=case["id"], limits=given.get("limits"))


def diamond_chain(count: int) -> Graph:
    ops = [{"name": f"d{i}"} for i in range(count + 1)]
    ops += [{"name": f"{x}{i}", "latency": lag} for i in range(count) for x, lag in (("a", 1), ("b", 2))]
    edges = [e for i in range(count) for x in "ab" for e in ((f"d{i}", f"{x}{i}"), (f"{x}{i}", f"d{i + 1}"))]
    return Graph.build(ops, [*edges, {"src": f"d{count}", "dst": "d0", "distance": 1}])


def reversed_parallel_edges(graph: Graph) -> Graph:
    order = np.arange(graph.n_edges)[::-1]
    return graph.replace(
        **{key: getattr(graph, key)[order] for key in ("src", "dst", "distance", "edge_latency", "cost")}
    )


def horizon_of(makespan: int) -> int:
    # Theirs is max(start + latency); ours counts a step for an operation of latency 0, so nothing ends at step 0.
    return max(makespan, 1)


# ---- loops ------------------------------------------------------------------------------------------------


@each("modulo")
def test_modulo(case: Case) -> None:
    expected, graph = case["expected"], as_graph(case)
    begin = time.perf_counter()
    for same in (graph, reversed_parallel_edges(graph)):
        assert gl.rec_mii(same) == expected["rec_mii"]
        assert gl.res_mii(same) == expected.get("res_mii", 0)
        assert gl.mii(same) == expected["mii"]
    assert time.perf_counter() - begin < case["input"].get("time_limit_s", 5)


@each("modulo", "min_ii", "infeasible_ii")
def test_no_schedule_below_the_least_ii(case: Case) -> None:
    """`infeasibility` proves it below MII; from there on every schedule of a few iterations' length is tried."""
    expected, graph = case["expected"], as_graph(case)
    for ii in range(1, expected["min_ii"]):
        problem = ModuloProblem(graph, ii=ii)
        assert (problem.infeasibility() is not None) == (ii < expected["mii"])
        if ii >= expected["mii"]:
            assert first_start(graph, problem.horizon + 3 * ii, graph.limits, ii) is None
    assert all(ii < expected["min_ii"] for ii in expected.get("infeasible_ii", ()))


@each("overlap")
def test_overlap(case: Case) -> None:
    """Copies of a value that are live at once in the steady state: the footprint of its one bit."""
    birth, death = case["input"]["live"]
    ii = case["input"]["II"]
    graph = Graph.build([{"name": "maker", "bits": 1}, {"name": "user", "bits": 0}], [("maker", "user")])
    assert Schedule(graph, [birth, death], ii=ii).footprint() == case["expected"]["copies"]


@each("modulo", "min_ii", "feasible_ii")
def test_a_schedule_at_the_least_ii(case: Case) -> None:
    expected, graph = case["expected"], as_graph(case)
    for ii in {expected["min_ii"], *expected.get("feasible_ii", ())}:
        problem = ModuloProblem(graph, ii=ii)
        assert problem.infeasibility() is None
        assert gl.verify(problem, first_start(graph, problem.horizon, graph.limits, ii)) == []


@each("modulo", "min_makespan")
def test_least_makespan_of_a_loop(case: Case) -> None:
    expected, graph = case["expected"], as_graph(case)
    horizon, ii = horizon_of(expected["min_makespan"]), expected["min_ii"]
    problem = ModuloProblem(graph, horizon, ii=ii)
    assert gl.verify(problem, first_start(graph, horizon, graph.limits, ii)) == []
    assert first_start(graph, horizon - 1, graph.limits, ii) is None


# ---- judging a schedule -----------------------------------------------------------------------------------


@each("check")
def test_check(case: Case) -> None:
    given, expected, graph = case["input"], case["expected"], as_graph(case)
    # The constraints themselves, without a problem: the cases have no horizon, and starts may be negative.
    schedule = Schedule(graph, given["schedule"], given.get("II"))
    found = constraints.precedence(schedule) + constraints.capacity(schedule, graph.limits)
    assert (found == []) == expected["valid"]
    rows = []
    for violation in found:
        if violation.constraint == "capacity":
            # One row a slot; ours is one violation for each run of slots with the same operations.
            slots = range(violation.step, violation.step + violation.steps)
            rows += [["res", violation.resource, slot, violation.left, violation.right] for slot in slots]
        else:
            # Theirs is the slack, which is negative; ours is the amount.
            rows.append(["dep", *violation.ops, -violation.amount])
    if "violations" in expected:
        assert sorted(rows) == sorted(expected["violations"])


@each("check")
def test_check_does_not_change_with_a_shift(case: Case) -> None:
    given, graph = case["input"], as_graph(case)
    here = Schedule(graph, given["schedule"], given["II"])
    for shift in (-7, -1, 1, given["II"]):
        there = Schedule(graph, here.start + shift, given["II"])
        for judge in (constraints.precedence, lambda s: constraints.capacity(s, graph.limits)):
            assert len(judge(there)) == len(judge(here))
            assert sum(v.amount * v.steps for v in judge(there)) == sum(
                v.amount * v.steps for v in judge(here)
            )


# ---- acyclic graphs ---------------------------------------------------------------------------------------


def without_unused_limits(graph: Graph) -> Graph:
    # Ours warns of them, which `test_error` expects elsewhere.
    used = {resource: units for resource, units in graph.limits.items() if resource in graph.resources}
    return graph.replace(limits=used)


@each("dag", "asap", "alap")
def test_windows(case: Case) -> None:
    given, expected, graph = case["input"], case["expected"], as_graph(case)
    if "asap" in expected:
        assert dict(zip(graph.ops, gl.asap(graph).tolist(), strict=True)) == expected["asap"]
    if "alap" in expected:
        deadline = given["deadline"]
        # An operation of latency 0 may start at their deadline; ours takes part of the step before it.
        latest = {op: min(start, deadline - 1) for op, start in expected["alap"].items()}
        assert dict(zip(graph.ops, gl.alap(graph, deadline).tolist(), strict=True)) == latest


@each("dag", "min_makespan")
def test_least_makespan(case: Case) -> None:
    given, expected, graph = case["input"], case["expected"], without_unused_limits(as_graph(case))
    best = horizon_of(expected["min_makespan"])
    problem = LatencyProblem(graph)
    solvers = [gl.ListScheduling()]
    if "priority" in given:
        solvers.append(gl.ListScheduling(priority=tuple(given["priority"]), backwards=False, passes=1))
    for solver in solvers:
        result = gl.solve(problem, solver)
        assert problem.bound() <= best <= result.objective == result.schedule.makespan
        if result.objective == problem.bound() or "priority" in given:
            assert result.objective == best
    assert gl.verify(problem, first_start(graph, best, graph.limits)) == []
    assert first_start(graph, best - 1, graph.limits) is None
    if expected.get("feasible") is False:
        assert problem.replace(horizon=given["deadline"]).infeasibility() is not None


@each("dag", "min_peak")
def test_least_peak(case: Case) -> None:
    given, expected, graph = case["input"], case["expected"], without_unused_limits(as_graph(case))
    problem = ResourceProblem(graph, given["deadline"])
    result = gl.solve(problem, gl.ListScheduling())
    assert problem.bound() <= expected["min_peak"] <= result.objective
    if problem.bound() == result.objective:
        assert result.objective == expected["min_peak"]
    assert (
        first_start(graph, given["deadline"], dict.fromkeys(graph.resources, expected["min_peak"]))
        is not None
    )
    assert (
        first_start(graph, given["deadline"], dict.fromkeys(graph.resources, expected["min_peak"] - 1))
        is None
    )


# ---- errors -----------------------------------------------------------------------------------------------


def assert_mentions(text: str, words: list[str]) -> None:
    missing = [word for word in words if word.lower() not in text.lower()]
    assert not missing, f"{missing} missing in {text!r}"
    assert "\n" not in text and "Traceback" not in text


@each("error")
def test_error(case: Case) -> None:
    given, expected = case["input"], case["expected"]
    begin = time.perf_counter()
    if given.get("call") == "gumbel solver":
        for tau in given["tau"]:
            with pytest.raises(GausLabError) as raised:
                gl.GumbelSoftmax(tau=float(tau))
            assert_mentions(str(raised.value), expected["mentions"])
    elif "deadline" in given:
        problem = ResourceProblem(as_graph(case), given["deadline"])
        # No exception: a horizon that is too short is an answer, found before any optimisation.
        for result in (
            gl.solve(problem, gl.ListScheduling()),
            gl.solve(problem, gl.Asap()),
            gl.solve(problem),
        ):
            assert result.status == "infeasible" and result.steps == 0 and result.schedule is None
            assert_mentions(result.reason, expected["mentions"])
            assert_mentions(result.reason, expected["may_mention_path"])
    elif expected.get("warns_or_raises"):
        with pytest.warns(GausLabWarning) as caught:
            LatencyProblem(as_graph(case))
        assert_mentions(str(caught[0].message), expected["mentions"])
    else:
        with pytest.raises(GausLabError) as raised:
            LatencyProblem(as_graph(case))
        assert_mentions(str(raised.value), expected["mentions"])
    if given.get("call") != "every scheduler incl. gaus":  # loading torch is no part of the solver's time
        assert time.perf_counter() - begin < expected.get("max_seconds", 5)


# ---- files ------------------------------------------------------------------------------------------------


def content(case: Case) -> bytes:
    given = case["input"]
    return base64.b64decode(given["base64"]) if "base64" in given else given["text"].encode()


def edges_of(graph: Graph) -> Counter[tuple[str, str, int]]:
    return Counter(
        (graph.ops[u], graph.ops[v], int(k))
        for u, v, k in zip(graph.src, graph.dst, graph.distance, strict=True)
    )


def logic(graph: Graph) -> Graph:
    """Return the graph as they count: inputs are no operations, constants take no time; ours take a step each."""
    kinds = [graph.type_of(i) for i in range(graph.n_ops)]
    free = graph.replace(latency=[0 if kind == "const" else 1 for kind in kinds])
    return free.subgraph([i for i, kind in enumerate(kinds) if kind != "input"])


@each("parse")
def test_parse(case: Case) -> None:
    given, expected = case["input"], case["expected"]
    if "raises" in expected:
        with pytest.raises(GausLabError) as raised:
            loads(content(case), given["format"])
        assert_mentions(str(raised.value), expected["raises"]["mentions"])
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph = loads(content(case), given["format"])
    assert len(caught) == expected.get("warns", 0)
    for directive, warning in zip(expected.get("ignored", ()), caught, strict=True):
        assert directive in str(warning.message)
    if given["format"] == "aiger":
        compare_circuit(graph, expected)
    else:
        compare_graph(logic(graph) if given["format"] == "blif" else graph, expected)


def compare_graph(graph: Graph, expected: Case) -> None:
    assert graph.n_ops == expected.get("n_nodes", graph.n_ops)
    assert graph.n_edges == expected.get("n_edges", graph.n_edges)
    if "edges" in expected:
        assert edges_of(graph) == Counter(map(tuple, expected["edges"]))
    for op, latency in expected.get("lat", {}).items():
        assert graph.latency[graph.index(op)] == latency
    for op, kind in expected.get("type", {}).items():
        assert graph.type_of(op) == kind
    for op, attributes in expected.get("attr", {}).items():
        for key, value in attributes.items():
            assert graph.op_attributes[key][graph.index(op)] == value
    early = Schedule(graph, gl.asap(graph))
    assert {op: early.start_of(op) for op in expected.get("asap", ())} == expected.get("asap", {})
    assert {op: early.start_of(op) for op in expected.get("earliest", ())} == expected.get("earliest", {})
    assert early.makespan == expected.get("makespan", early.makespan)
    assert gl.rec_mii(graph) == expected.get("rec_mii", gl.rec_mii(graph))


def compare_circuit(graph: Graph, expected: Case) -> None:
    """Compare with literals: 2 * variable, + 1 if inverted. A graph has variables, since inverters take no time."""
    ands = graph.subgraph([i for i in range(graph.n_ops) if graph.type_of(i) == "and"])
    assert set(ands.ops) == {f"v{lhs // 2}" for lhs, *_ in expected["ands"]}
    for lhs, *operands in expected["ands"]:
        read = {f"v{literal // 2}" for literal in operands if f"v{literal // 2}" in graph.ops}
        unread = set(graph.predecessors(f"v{lhs // 2}")) - read
        # What is read beyond the operands comes through latches, which are distances and no operations.
        assert len(read) + len(unread) == len({literal // 2 for literal in operands})
    kinds = Counter(graph.type_of(i) for i in range(graph.n_ops))
    assert kinds["input"] == expected.get("n_inputs", kinds["input"])
    for key in ("outputs", "bad"):
        if key in expected:
            assert graph.attributes[key] == expected[key]
    for literal, name in expected.get("input_names", {}).items():
        assert graph.op_attributes["symbol"][graph.index(f"v{int(literal) // 2}")] == name
    for key in ("depth", "makespan_ands_only"):
        assert gl.critical_path_length(ands) == expected.get(key, gl.critical_path_length(ands))
    assert gl.rec_mii(graph) == expected.get("rec_mii", gl.rec_mii(graph))
    if "edges_and" in expected:
        rows = [(f"v{int(u) // 2}", f"v{int(v) // 2}", k) for u, v, k in expected["edges_and"]]
        assert edges_of(ands) == Counter(rows)


# ---- numbers ----------------------------------------------------------------------------------------------


@each("numeric")
def test_numeric(case: Case) -> None:
    compare = {
        "gaussian_bin_logp": compare_log_probability,
        "alm_inequality_term": compare_inequality_term,
        "round_starts": compare_rounding,
        "scaled_tradeoff": compare_tradeoff,
    }
    compare[case["input"]["fn"]](case["input"], case["expected"])


def compare_log_probability(given: Case, expected: Case) -> None:
    torch = pytest.importorskip("torch")
    from gaus_lab.solvers.differentiable.gaussian import log_step_probability

    mu, sigma, d = (torch.tensor(float(value), dtype=torch.float64) for value in given["args"])
    mu.requires_grad_()
    value = log_step_probability(mu, sigma, d)
    value.backward()
    assert value.item() == pytest.approx(expected["logp"], rel=1e-10)
    assert mu.grad.item() == pytest.approx(expected["dlogp_dmu"], rel=1e-9)


def compare_inequality_term(given: Case, expected: Case) -> None:
    torch = pytest.importorskip("torch")
    from gaus_lab.solvers.differentiable.lagrangian import inequality_term

    multiplier, value, rho = given["args"]
    tensors = (torch.tensor(number, dtype=torch.float64) for number in (multiplier, value))
    assert inequality_term(*tensors, rho).item() == expected["value"]


def compare_rounding(given: Case, expected: Case) -> None:
    pytest.importorskip("numba")
    from gaus_lab.solvers.differentiable.legalize import round_starts

    starts = round_starts(given["values"])
    assert starts.tolist() == expected["starts"] and starts.dtype == np.int64


def compare_tradeoff(given: Case, expected: Case) -> None:
    left, right = given["weights"]
    graph = Graph.build(
        "anb", [{"src": "a", "dst": "n", "cost": left}, {"src": "n", "dst": "b", "cost": right}]
    )
    with pytest.raises(ProblemError, match="cost has values with a fractional part"):
        ResourceProblem(graph)
    # Objectives are integers: the costs are scaled exactly, where rounding them first would make them equal.
    scale = int(max(Fraction(left).denominator, Fraction(right).denominator))
    scaled = graph.replace(cost=[int(Fraction(left) * scale), int(Fraction(right) * scale)])
    problem = ResourceProblem(scaled, given["span"] + 1, {}, resource_weights=0, communication_weight=1)
    costs = {}
    for t in range(1, given["span"]):
        schedule = problem.schedule([0, t, given["span"]])
        assert gl.verify(problem, schedule) == []
        costs[t] = problem.objective(schedule)
    best = min(costs, key=costs.get)
    assert best == expected["best_t"]
    assert Fraction(costs[best], scale) == Fraction(str(expected["cost"]))


# ---- the rest ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("feature", OTHERS)
def test_others(feature: str) -> None:
    count = sum(label(case) == feature for case in CASES)
    pytest.skip(f"{count} cases of {feature}: {OTHERS[feature]}" if CASES else ABSENT)


@pytest.mark.skipif(not CASES, reason=ABSENT)
def test_every_kind_is_known() -> None:
    tested = {"modulo", "overlap", "check", "dag", "error", "parse", "numeric"}
    assert {label(case) for case in CASES} <= tested | OTHERS.keys()
