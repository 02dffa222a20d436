"""Small problems, all schedules tried: bounds hold, no solver is better than the best, claims of failure are true."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import every_start, graphs

import gaus_lab as gl
from gaus_lab.problem import Problem
from gaus_lab.run import Solver

pytestmark = pytest.mark.fast

#: Schedules that may be tried for one problem.
MOST = 3000
SOLVERS: tuple[Solver, ...] = (
    gl.Asap(),
    gl.Alap(),
    gl.ListScheduling(),
    gl.ForceDirected(),
    gl.ForceDirected(candidates=1),
)
#: They say that a problem has no schedule only where there is none, and find the best where there is one.
EXACT: tuple[Solver, ...] = (gl.CpSat(), gl.Milp())


limits = st.none() | st.fixed_dictionaries({}, optional={"mul": st.integers(1, 4), "add": st.integers(1, 4)})


def restrict(graph: gl.Graph, chosen: dict[str, int] | None) -> dict[str, int]:
    return {resource: units for resource, units in (chosen or {}).items() if resource in graph.resources}


def best(problem: Problem, horizon: int) -> int | None:
    """Return the least objective of all legal schedules within the horizon, None if there is none."""
    found = map(problem.schedule, every_start(problem.graph, horizon, problem.interval))
    return min((problem.objective(s) for s in found if not gl.verify(problem, s)), default=None)


def compare(problem: Problem, horizon: int) -> None:
    """Check bounds, solvers and claims against all schedules."""
    optimum = best(problem, horizon)
    if optimum is not None:
        assert problem.infeasibility() is None
        assert problem.bound() <= optimum
    for solver in SOLVERS:
        if problem.formulation not in solver.formulations:
            continue
        result = gl.solve(problem, solver)
        if optimum is None:
            assert result.schedule is None
            continue
        assert result.status is not gl.Status.INFEASIBLE
        if result.objective is not None:
            assert result.objective >= optimum
            assert (result.status is gl.Status.OPTIMAL) <= (result.objective == optimum)
    for solver in EXACT:
        result = gl.solve(problem, solver)
        assert result.objective == optimum, solver.name
        assert result.status is (gl.Status.INFEASIBLE if optimum is None else gl.Status.OPTIMAL)


def steps_to_try(graph: gl.Graph, wanted: int) -> int:
    """Return the longest horizon up to `wanted` with few enough schedules."""
    while wanted > 0 and wanted**graph.n_ops > MOST:
        wanted -= 1
    return wanted


@given(graphs(max_ops=7), limits, st.integers(0, 6), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_resource_problems(
    graph: gl.Graph,
    chosen: dict[str, int] | None,
    wanted: int,
    price_mul: int,
    price_add: int,
    communication: int,
) -> None:
    horizon = steps_to_try(graph, wanted)
    prices = restrict(graph, {"mul": price_mul, "add": price_add})
    problem = gl.ResourceProblem(
        graph,
        horizon=horizon,
        limits=restrict(graph, chosen),
        resource_weights=prices,
        communication_weight=communication,
    )
    compare(problem, horizon)


@given(graphs(max_ops=7), limits, st.integers(0, 6), st.booleans())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_footprint_problems(
    graph: gl.Graph, chosen: dict[str, int] | None, wanted: int, hold_outputs: bool
) -> None:
    horizon = steps_to_try(graph, wanted)
    compare(
        gl.FootprintProblem(
            graph, horizon=horizon, limits=restrict(graph, chosen), hold_outputs=hold_outputs
        ),
        horizon,
    )


@given(graphs(max_ops=7, max_distance=2), limits, st.integers(0, 6), st.integers(1, 4), st.booleans())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_modulo_problems(
    graph: gl.Graph, chosen: dict[str, int] | None, wanted: int, ii: int, hold_outputs: bool
) -> None:
    horizon = steps_to_try(graph, wanted)
    problem = gl.ModuloProblem(
        graph, horizon=horizon, limits=restrict(graph, chosen), ii=ii, hold_outputs=hold_outputs
    )
    compare(problem, horizon)


@given(graphs(max_ops=7), limits, st.integers(0, 6))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_latency_problems(graph: gl.Graph, chosen: dict[str, int] | None, wanted: int) -> None:
    horizon = steps_to_try(graph, wanted)
    compare(gl.LatencyProblem(graph, horizon=horizon, limits=restrict(graph, chosen)), horizon)


@given(graphs(max_ops=7), limits)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_list_scheduling_always_ends_where_only_limits_bind(
    graph: gl.Graph, chosen: dict[str, int] | None
) -> None:
    problem = gl.LatencyProblem(graph, limits=restrict(graph, chosen))
    result = gl.solve(problem, gl.ListScheduling())
    assert (result.schedule is None) == (problem.infeasibility() is not None)
    if result.schedule is not None and result.objective is not None:
        assert result.objective <= int((graph.span + graph.occupancy + 3).sum())
        assert result.bound is not None and result.bound <= result.objective
