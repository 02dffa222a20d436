"""Legalisation: any means become schedules that are legal in time; pressed ones have lower peaks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import graphs

from gaus_lab.analysis import alap, asap
from gaus_lab.constraints import horizon as horizon_violations
from gaus_lab.constraints import precedence
from gaus_lab.graph import Graph
from gaus_lab.problem import ResourceProblem
from gaus_lab.schedule import Schedule
from gaus_lab.solvers.differentiable.legal_candidates import PressedCandidates
from gaus_lab.solvers.differentiable.legalize import Legalizer, round_starts


def test_rounding_is_to_the_nearest() -> None:
    assert round_starts([2.9999991, 1e-08, 5.0000002, -1e-09, 1.5, 2.5]).tolist() == [3, 0, 5, 0, 2, 2]


def test_both_directions_of_the_pass() -> None:
    graph = Graph.build(["a", "b", "c"], [("a", "b"), ("b", "c")])
    legalize = Legalizer(graph, asap(graph), alap(graph, 6))
    pushed, pulled = legalize([3.0, 2.0, 4.0])
    assert pushed.tolist() == [3, 4, 5]
    assert pulled.tolist() == [1, 2, 4]


@given(graph=graphs(), slack=st.integers(0, 8), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=80)
def test_every_candidate_is_legal_in_time(graph: Graph, slack: int, seed: int) -> None:
    steps = int((asap(graph) + graph.span).max(initial=0)) + slack
    problem = ResourceProblem(graph, horizon=steps, limits={})
    mu = np.random.default_rng(seed).uniform(-3, steps + 3, graph.n_ops)
    for start in PressedCandidates(problem, asap(graph), alap(graph, steps))(mu):
        schedule = Schedule(graph, start)
        assert precedence(schedule) == [] and horizon_violations(schedule, steps) == []


def test_pressing_spreads_equal_operations() -> None:
    graph = Graph.build([f"x{i}" for i in range(12)])
    problem = ResourceProblem(graph, horizon=4)
    candidates = list(PressedCandidates(problem, asap(graph), alap(graph, 4))(np.zeros(12)))
    peaks = [Schedule(graph, start).peak_usage["op"] for start in candidates]
    assert peaks[0] == 12 and min(peaks) == 3


def test_pressing_works_backwards_too() -> None:
    ops = [{"name": f"x{i}", "occupancy": 2} for i in range(6)]
    graph = Graph.build(ops)
    problem = ResourceProblem(graph, horizon=6)
    late = alap(graph, 6)
    peaks = [Schedule(graph, s).peak_usage["op"] for s in PressedCandidates(problem, asap(graph), late)(late)]
    assert min(peaks) == 2


def test_limits_are_met_where_the_repair_can() -> None:
    graph = Graph.build([f"x{i}" for i in range(9)], limits={"op": 3})
    problem = ResourceProblem(graph, horizon=3)
    found = list(PressedCandidates(problem, asap(graph), alap(graph, 3))(np.zeros(9), press=None))
    assert any(not problem.violations(problem.schedule(start)) for start in found)


@pytest.mark.parametrize("latency", [0, 1])
def test_chains_within_a_step(latency: int) -> None:
    names = [f"x{i}" for i in range(5)]
    graph = Graph.build([{"name": n, "latency": latency} for n in names], list(itertools.pairwise(names)))
    problem = ResourceProblem(graph, horizon=5)
    peaks = [
        Schedule(graph, s).peak_usage["op"]
        for s in PressedCandidates(problem, asap(graph), alap(graph, 5))(np.zeros(5))
    ]
    assert min(peaks) == 1
