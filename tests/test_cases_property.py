"""Sentences about whole solvers from public bug reports, as far as they can be tested on the case's own data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_cases import ABSENT, CASES, Case, as_graph

import gaus_lab as gl
from gaus_lab.datasets.generators import chain
from gaus_lab.graph import Graph
from gaus_lab.problem import FootprintProblem, LatencyProblem, ModuloProblem, ResourceProblem

pytestmark = pytest.mark.fast

BY_ID = {case["id"]: case for case in CASES}

#: Those without a test here, and why.
ELSEWHERE = {
    "prop-monotone-optimum": "constraints beyond dependences, limits and a horizon are not modelled",
    "prop-unorderable-nodes": "names are text; test_graph_networkx has what becomes of other nodes",
    "prop-id-type-mismatch": "names are text in every file; test_files_round_trip has them",
    "prop-blif-wide": "test_files_hostile reads wide tables",
    "prop-recompile": "nothing is compiled by torch",
    "prop-peak-ties": "the smooth peak is a tempered log-sum-exp; test_relaxation has its gradient",
    "prop-adam-nan": "all tensors are float32 or float64, and a mean that is not finite counts as ASAP; test_gaus",
}


def critical_report(case: Case) -> None:
    """The path; the loop that the sentence names is not among the cases, and test_min_ii has other cycles."""
    short, expected = BY_ID["err-deadline-too-small"], case["expected"]
    [reason] = gl.explain(ResourceProblem(as_graph(short), short["input"]["deadline"])).reasons
    assert (list(reason.ops), reason.need) == (expected["critical_path"], expected["length"])


def reported_makespan(case: Case) -> None:
    problem = ResourceProblem(as_graph(case), case["input"]["deadline"])
    stop = gl.MaxSeconds(2)
    for solver in (gl.CpSat(), gl.Milp(), gl.GauS(), gl.ForceDirected(), gl.ListScheduling()):
        result = gl.solve(problem, solver, stop=(stop, gl.MaxSteps(200)))
        schedule = result.schedule
        assert schedule is not None
        assert result.terms["makespan"] == int((schedule.start + problem.graph.latency).max())


def zero_latency_agree(case: Case) -> None:
    graph = as_graph(BY_ID["dag-zero-latency-limited"])
    problem = LatencyProblem(graph)
    for solver in (gl.ListScheduling(), gl.CpSat(), gl.Milp(), gl.GauS()):
        assert gl.solve(problem, solver, stop=(gl.MaxSteps(50), gl.MaxSeconds(5))).objective == 3
    by_usage = ResourceProblem(graph, horizon=3)
    for solver in (
        gl.Asap(),
        gl.ListScheduling(),
        gl.ForceDirected(),
        gl.CpSat(),
        gl.GauS(),
        gl.GumbelSoftmax(),
    ):
        result = gl.solve(by_usage, solver, stop=(gl.MaxSteps(20), gl.MaxSeconds(5)))
        assert result.schedule is not None and result.terms["makespan"] == 3


def time_limit(case: Case) -> None:
    graph = gl.load("random_dag", n=200, edges=400, types=["a", "b", "c", "d"], seed=0)
    problem = LatencyProblem(graph, limits=dict.fromkeys(graph.resources, 2))
    for solver in (gl.CpSat(), gl.Milp()):
        for seconds in case["input"]["time_limit_s"]:
            result = gl.solve(problem, solver, stop=gl.MaxSeconds(seconds))
            assert result.seconds < 5
            assert result.status in ("feasible", "unknown") or result.objective == result.bound
            assert result.schedule is None or gl.verify(problem, result.schedule) == []


def cpsat_repeat(case: Case) -> None:
    problem = ModuloProblem(as_graph(BY_ID["mod-five-on-two"]))
    results = [gl.solve(problem, gl.CpSat(), seed=0) for _ in range(case["input"]["runs"])]
    starts = {tuple(result.schedule.start.tolist()) for result in results if result.schedule is not None}
    assert len(starts) == 1
    assert gl.solve(problem, gl.CpSat(workers=2)).objective == results[0].objective


def bad_hint(case: Case) -> None:
    problem = ModuloProblem(as_graph(BY_ID["mod-five-on-two"]))
    best = gl.solve(problem, gl.CpSat()).objective
    assert gl.solve(problem, gl.CpSat(warm_start=[0] * problem.graph.n_ops)).objective == best
    with pytest.raises(gl.GausLabError, match="start"):
        gl.solve(problem, gl.CpSat(warm_start=[0] * (problem.graph.n_ops + 1)))


def gumbel_noise(case: Case) -> None:
    import torch

    from gaus_lab.solvers.differentiable import categorical

    class Degenerate(torch.Tensor):
        def exponential_(self, *_: Any, **__: Any) -> torch.Tensor:
            values = torch.tensor([0.0, 1e-45, 1.0, 0.0]).to(self.dtype)
            return self.copy_(values).as_subclass(torch.Tensor)

    for dtype in (torch.float32, torch.bfloat16):
        out = torch.empty(4, dtype=dtype).as_subclass(Degenerate)
        noise = categorical.gumbel_noise(out, torch.Generator())
        assert torch.isfinite(noise).all()
        assert float(torch.softmax(noise.float(), 0).sum()) == pytest.approx(1)


def zero_slack_scale(case: Case) -> None:
    count = case["input"]["graph"]["n"]
    graph = chain(count)
    problem = FootprintProblem(graph, horizon=count)
    result = gl.solve(problem, gl.GauS(), stop=gl.MaxSteps(20))
    assert result.schedule is not None
    assert (result.schedule.start == np.arange(count)).all()
    assert result.seconds < 5


def oom_message(case: Case) -> None:
    problem = FootprintProblem(Graph.build([str(i) for i in range(4000)]), horizon=4000)
    with pytest.raises(gl.SolverError) as raised:
        gl.solve(problem, gl.GumbelSoftmax.published())
    for word in ("4000 operations", "4000 stages", "GiB", "smaller batch", "shorter horizon"):
        assert word in str(raised.value)


def alm_infeasible(case: Case) -> None:
    problem = ResourceProblem(as_graph(case), case["input"]["deadline"])
    result = gl.solve(problem, gl.GauS(), stop=gl.MaxSteps(100))
    assert result.status == "infeasible" and "M" in result.reason


def alm_bounded(case: Case) -> None:
    """Past the cheap tests for infeasibility: an instance that only a search refutes."""
    import torch

    graph = as_graph(BY_ID["prop-alm-infeasible"])
    problem = ResourceProblem(graph.replace(occupancy=2), horizon=4)
    solver = gl.GauS(refine=0.0, first_round=50)
    state = solver.init(problem, 0)
    for _ in range(500):
        solver.step(state)
    assert torch.isfinite(state.mu).all() and torch.isfinite(state.multipliers.value).all()
    assert torch.isfinite(state.prices.value).all() and torch.isfinite(state.prices.rho).all()


TESTS: dict[str, Callable[[Case], None]] = {
    "prop-critical-report": critical_report,
    "prop-reported-makespan": reported_makespan,
    "prop-zero-latency-agree": zero_latency_agree,
    "prop-time-limit": time_limit,
    "prop-cpsat-repeat": cpsat_repeat,
    "prop-bad-hint": bad_hint,
    "prop-gumbel-noise": gumbel_noise,
    "prop-zero-slack-scale": zero_slack_scale,
    "prop-oom-message": oom_message,
    "prop-alm-infeasible": alm_infeasible,
    "prop-alm-bounded": alm_bounded,
}


@pytest.mark.skipif(not CASES, reason=ABSENT)
@pytest.mark.parametrize("name", TESTS)
def test_property(name: str) -> None:
    TESTS[name](BY_ID[name])


@pytest.mark.skipif(not CASES, reason=ABSENT)
def test_every_sentence_is_tested_or_has_a_reason() -> None:
    names = {case["id"] for case in CASES if case["kind"] == "property"}
    assert names == TESTS.keys() | ELSEWHERE.keys()
