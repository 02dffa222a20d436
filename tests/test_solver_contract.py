"""What every solver keeps, on every reference instance whose formulation it supports."""

from __future__ import annotations

import csv
import dataclasses
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import gaus_lab as gl
from gaus_lab.datasets import add_recurrences, random_dag
from gaus_lab.problem import PROBLEMS, Problem
from gaus_lab.run import Solver
from gaus_lab.solvers import SOLVERS, solver_class, solver_named

TABLE = Path(__file__).parents[1] / "datasets" / "optima.csv"
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))

#: Steps that an iterative solver gets: enough for a schedule, few enough for a test.
STOP = gl.MaxSteps(60)


def instance(row: dict[str, str]) -> Problem:
    """Return the problem that a row of the table of optima speaks of."""
    graph = gl.load(row["graph"])
    settings = (
        {} if row["setting"] == "unlimited" else dict(part.split("=") for part in row["setting"].split(" "))
    )
    numbers = {key: int(value) for key, value in settings.items()}
    if row["problem"] == "TC":
        return gl.ResourceProblem(graph, horizon=numbers["horizon"])
    if row["problem"] == "RC":
        return gl.LatencyProblem(graph, limits=numbers)
    return gl.ModuloProblem(graph, limits=numbers, ii=int(row["optimum"]))


@cache
def graphs() -> dict[str, gl.Graph]:
    """Return graphs at the edges of what is allowed, besides an ordinary one."""
    chain = [("a", "b"), ("b", "c")]
    parallel = [("a", "b"), {"src": "a", "dst": "b", "latency": 4}, {"src": "a", "dst": "b", "cost": 5}]
    mixed = [
        {"name": "m", "type": "MUL", "latency": 3, "occupancy": 2, "bits": 8},
        {"name": "n", "type": "MUL", "latency": 3, "occupancy": 2, "weight": 2, "bits": 0},
        {"name": "a", "type": "ALU", "bits": 16},
        {"name": "b", "type": "ALU", "latency": 0},
        {"name": "free", "type": "WIRE", "occupancy": 0},
    ]
    return {
        "empty": gl.Graph.build([]),
        "single": gl.Graph.build(["a"]),
        "parallel edges": gl.Graph.build(["a", "b"], parallel),
        "disconnected": gl.Graph.build(["a", "b", "c", "x", "y"], [*chain, ("x", "y")]),
        "all equal": gl.Graph.build([f"x{i}" for i in range(9)]),
        "latency 0": gl.Graph.build([{"name": n, "latency": 0} for n in "abc"], chain),
        "big latency": gl.Graph.build([{"name": n, "latency": 5000} for n in "abc"], chain),
        "weight 0": gl.Graph.build([{"name": n, "weight": 0, "bits": 0} for n in "abc"], chain),
        "several resources": gl.Graph.build(mixed, [("m", "a"), ("n", "a"), ("a", "b"), ("m", "free")]),
        "loop": gl.load("iir2"),
        "random": add_recurrences(random_dag(40, seed=1), count=3, seed=1),
    }


def variants(graph: gl.Graph) -> dict[str, Problem]:
    """Return problems of all formulations, with short and long horizons, with limits and without."""
    length = gl.critical_path_length(graph)
    largest = {r: int(graph.weight[graph.resource_index == k].max()) for k, r in enumerate(graph.resources)}
    limits = {resource: 2 * units for resource, units in largest.items() if units}
    serial = length + int((graph.span + graph.occupancy).sum())
    return {
        "A": gl.ResourceProblem(graph, weights="balanced"),
        "A, long": gl.ResourceProblem(graph, horizon=2 * length + 3, communication_weight=1),
        "A, limits": gl.ResourceProblem(graph, horizon=serial, limits=limits),
        "B": gl.FootprintProblem(graph, horizon=length + 2),
        "B, held": gl.FootprintProblem(graph, horizon=length + 2, hold_outputs=True),
        "C": gl.ModuloProblem(graph, limits={}),
        "C, limits": gl.ModuloProblem(graph, limits=limits),
        "R": gl.LatencyProblem(graph, limits=limits),
        "R, unlimited": gl.LatencyProblem(graph, limits={}),
        "R, horizon": gl.LatencyProblem(graph, limits=limits, horizon=serial),
    }


def there(name: str) -> bool:
    """Return whether the module of a solver exists."""
    try:
        return find_spec(f"gaus_lab.solvers.{SOLVERS[name][0]}") is not None
    except ModuleNotFoundError:  # nor does its package
        return False


FOUND = {name: solver_class(name) for name in SOLVERS if there(name)}
NAMES = [
    pytest.param(
        name, marks=() if name in FOUND else pytest.mark.skip(f"the module of {name} does not exist")
    )
    for name in SOLVERS
]


def supported(problems: list[tuple[str, str]]) -> list[Any]:
    """Return a parameter set for each solver and problem, given as (key, formulation), that fit each other."""
    return [
        pytest.param(name, key, id=f"{name}-{key}")
        for name, solver in FOUND.items()
        for key, formulation in problems
        if formulation in solver.formulations
    ]


def check(problem: Problem, solver: Solver) -> gl.Result:
    """Run a solver twice, and check all that holds for any solver and problem."""
    result = gl.solve(problem, solver, seed=3, stop=STOP)
    again = gl.solve(problem, solver, seed=3, stop=STOP)
    assert result.solver == solver.name
    assert result.seed == 3
    if result.schedule is None:
        assert again.schedule is None
        assert result.objective is None
        assert result.reason
        assert result.status in (gl.Status.UNKNOWN, gl.Status.INFEASIBLE)
        return result
    assert again.schedule is not None
    assert again.schedule.start.tolist() == result.schedule.start.tolist()
    assert gl.verify(problem, result.schedule) == []
    assert result.objective == problem.objective(result.schedule)
    assert result.bound is not None and result.bound <= result.objective
    assert (result.status is gl.Status.OPTIMAL) == (result.bound == result.objective)
    assert result.history[-1][1] == result.objective
    return result


#: Solvers that may fail on problems whose limits bind, as their documentation says.
BLIND = {"asap", "alap", "force"}

CASES = [f"{graph}: {variant}" for graph in graphs() for variant in variants(graphs()["single"])]
OPTIMA = {f"{row['graph']}: {row['problem']} {row['setting']}": row for row in ROWS}
FORMULATION = {"TC": "A", "RC": "R", "II": "C"}


@pytest.mark.parametrize(("name", "case"), supported([(case, case.split(": ")[1][0]) for case in CASES]))
def test_every_result_is_legal_and_repeatable(name: str, case: str) -> None:
    graph, variant = case.split(": ")
    problem = variants(graphs()[graph])[variant]
    result = check(problem, solver_named(name))
    if not (name in BLIND and problem.limits) and problem.formulation != "C":
        assert result.schedule is not None, result.reason


@pytest.mark.parametrize(
    ("name", "case"), supported([(case, FORMULATION[row["problem"]]) for case, row in OPTIMA.items()])
)
def test_no_result_beats_a_proven_optimum(name: str, case: str) -> None:
    problem, optimum = instance(OPTIMA[case]), int(OPTIMA[case]["optimum"])
    result = check(problem, solver_named(name))
    if problem.formulation != "C":  # there the table holds the least ii, not an objective
        assert problem.bound() <= optimum
        assert result.objective is None or result.objective >= optimum


@pytest.mark.fast
@pytest.mark.parametrize("name", NAMES)
def test_a_horizon_below_the_critical_path_is_infeasible(name: str) -> None:
    solver = solver_named(name)
    graph = gl.Graph.build(["a", "b", "c", "d"], [("a", "b"), ("b", "c")])
    for formulation in sorted(solver.formulations):
        problem = PROBLEMS[formulation](graph, horizon=2)
        result = gl.solve(problem, solver, stop=STOP)
        assert result.status is gl.Status.INFEASIBLE
        assert result.schedule is None
        if formulation != "C":
            assert "a -> b -> c" in result.reason
        assert "3" in result.reason


@pytest.mark.fast
@pytest.mark.parametrize("name", NAMES)
def test_an_operation_above_its_limit_is_infeasible(name: str) -> None:
    solver = solver_named(name)
    graph = gl.Graph.build([{"name": "a", "weight": 3}, "b"])
    for formulation in sorted(solver.formulations):
        result = gl.solve(PROBLEMS[formulation](graph, horizon=9, limits={"op": 2}), solver, stop=STOP)
        assert result.status is gl.Status.INFEASIBLE
        assert "uses 3 units of op, the limit is 2" in result.reason


@pytest.mark.fast
@pytest.mark.parametrize("name", NAMES)
def test_a_formulation_that_is_not_supported_is_refused(name: str) -> None:
    solver = solver_named(name)
    for formulation in sorted(set(PROBLEMS) - solver.formulations):
        with pytest.raises(gl.SolverError, match=f"does not support formulation {formulation}"):
            gl.solve(PROBLEMS[formulation](gl.Graph.build(["a"])), solver)


@pytest.mark.fast
@pytest.mark.parametrize("name", NAMES)
def test_a_solver_is_a_frozen_documented_value(name: str) -> None:
    solver = solver_named(name)
    assert isinstance(solver, Solver)
    assert dataclasses.is_dataclass(solver)
    assert solver == solver_named(name)
    assert hash(solver) == hash(solver_named(name))
    assert re.search(r"eterministic|seed", type(solver).__doc__ or "")
    assert solver.formulations <= set(PROBLEMS)
    field = next(iter(dataclasses.fields(solver)), None)
    if field is not None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(solver, field.name, None)


@pytest.mark.fast
@pytest.mark.parametrize("name", NAMES)
def test_no_time_still_gives_a_schedule(name: str) -> None:
    solver = solver_named(name)
    for formulation in sorted(solver.formulations):
        problem = PROBLEMS[formulation](gl.load("hal"), horizon=9)
        result = gl.solve(problem, solver, stop=gl.MaxSeconds(0))
        assert result.schedule is not None, result.reason
