"""Single moves: exact incremental costs, limits kept, and a search that never gets worse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from small_graphs import first_start, graphs

import gaus_lab as gl
from gaus_lab.problem import Problem
from gaus_lab.solvers.moves import kernels
from gaus_lab.solvers.moves.annealing import Annealing, geometric
from gaus_lab.solvers.moves.tables import fixed_of, moving_of
from gaus_lab.solvers.time_windows import TimeWindows

pytestmark = pytest.mark.fast


@st.composite
def starts(draw: st.DrawFn, letter: str) -> tuple[Problem, list[int]]:
    """Draw a problem of a formulation with legal starts, its limits included."""
    graph = draw(graphs(min_ops=1, max_ops=7, max_distance=2 if letter == "C" else 0)).replace(weight=1)
    limits = {r: draw(st.integers(1, 3)) for r in graph.resources if draw(st.booleans())}
    extra, held = draw(st.integers(0, 4)), draw(st.booleans())
    length = gl.critical_path_length(graph, None)
    problem: Problem
    if letter == "A":
        weights = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
        problem = gl.ResourceProblem(graph, length + extra, limits, *weights)
    elif letter == "B":
        problem = gl.FootprintProblem(graph, horizon=length + extra, limits=limits, hold_outputs=held)
    else:
        ii = gl.mii(graph, {}) + draw(st.integers(0, 2))
        problem = gl.ModuloProblem(graph, limits=limits, ii=ii, hold_outputs=held)
        assume(problem.horizon <= 40)
    start = first_start(graph, problem.horizon, limits, problem.interval)
    assume(start is not None)
    return problem, start


@pytest.mark.parametrize("letter", ["A", "B", "C"])
@given(st.data(), st.integers(0, 9))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_the_cost_after_many_moves_is_the_cost(letter: str, data: st.DataObject, seed: int) -> None:
    problem, start = data.draw(starts(letter))
    windows = TimeWindows.of(problem)
    fixed = fixed_of(windows, 0.1)
    moving = moving_of(fixed, np.array(start), seed)
    kernels.set_up(fixed, moving)
    begin = best = present = kernels.cost(fixed, moving)
    offset = problem.objective(problem.schedule(start)) - begin  # constants of the communication
    assume(len(fixed.movable))
    for _ in range(20):
        present, best = kernels.anneal(fixed, moving, 10, 5.0, present, best)
        schedule = problem.schedule(moving.start)
        assert gl.verify(problem, schedule) == []
        assert present == pytest.approx(problem.objective(schedule) - offset)
        assert present == pytest.approx(kernels.cost(fixed, moving))
        fresh = moving_of(fixed, moving.start, 0)
        kernels.set_up(fixed, fresh)
        for field in ("usage", "usage_peaks", "live", "live_peaks"):
            assert (getattr(fresh, field) == getattr(moving, field)).all()
        kept = problem.schedule(moving.best)
        assert gl.verify(problem, kept) == []
        assert best == pytest.approx(problem.objective(kept) - offset)
        assert best <= begin


@given(st.data())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_tries_leave_everything_as_it_was(data: st.DataObject) -> None:
    problem, start = data.draw(starts("C"))
    fixed = fixed_of(TimeWindows.of(problem), 0.1)
    assume(len(fixed.movable))
    moving = moving_of(fixed, np.array(start), 1)
    kernels.set_up(fixed, moving)
    live, usage = moving.live_peaks.copy(), moving.usage_peaks.copy()
    assert kernels.mean_rise(fixed, moving, 200) >= 0
    assert moving.start.tolist() == start
    assert (moving.live_peaks == live).all()
    assert (moving.usage_peaks == usage).all()


def test_a_round_begins_at_the_best_schedule() -> None:
    problem = gl.FootprintProblem(gl.load("ewf"), horizon=24)
    annealing = Annealing(TimeWindows.of(problem), gl.asap(problem.graph), 0, 0.01)
    blocks = iter(range(1, 41))
    annealing.round(3.0, 3.0, lambda: next(blocks) / 40, lambda better: True)  # hot: ends anywhere
    reached = problem.objective(problem.schedule(annealing.best))
    annealing.round(1e-9, 1e-9, lambda: 0.0, lambda better: False)
    assert problem.objective(problem.schedule(annealing.best)) <= reached


def test_rounds_grow() -> None:
    assert geometric(3, 2.0) == pytest.approx([1 / 7, 2 / 7, 4 / 7])
    assert geometric(1, 9.0) == [1.0]


# ---- the solver -----------------------------------------------------------------------------------------------


def test_local_search_finds_proven_optima() -> None:
    problem = gl.FootprintProblem(gl.load("ewf"), horizon=20)
    best = gl.solve(problem, gl.CpSat()).objective
    assert gl.solve(problem, gl.LocalSearch(blocks=100)).objective == best
    problem = gl.ResourceProblem(gl.load("ewf"), horizon=20)
    assert gl.solve(problem, gl.LocalSearch(blocks=100)).objective == gl.solve(problem, gl.CpSat()).objective


def test_a_seed_makes_it_repeatable_and_steps_bound_it() -> None:
    problem = gl.FootprintProblem(gl.datasets.random_dag(200, 400, seed=3), horizon=40)
    one, two = (gl.solve(problem, gl.LocalSearch(), seed=4, stop=gl.MaxSteps(30)) for _ in range(2))
    assert one.steps == two.steps == 30
    assert one.schedule.start.tolist() == two.schedule.start.tolist()
    other = gl.solve(problem, gl.LocalSearch(), seed=5, stop=gl.MaxSteps(30))
    assert other.schedule.start.tolist() != one.schedule.start.tolist()


def test_profiles_that_are_too_long_are_refused() -> None:
    graph = gl.datasets.random_dag(30, 60, seed=1)
    with pytest.raises(gl.SolverError, match="use a coarser unit of time"):
        gl.solve(gl.FootprintProblem(graph, horizon=2**40, hold_outputs=True), gl.LocalSearch())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rounds": 0}, "rounds"),
        ({"growth": 0.5}, "growth"),
        ({"heat": 0}, "heat must be > 0"),
        ({"share": -1}, "share"),
    ],
)
def test_settings_are_checked(setting: dict[str, float], message: str) -> None:
    with pytest.raises(gl.SolverError, match=message):
        gl.LocalSearch(**setting)


# ---- refinement of GauS ---------------------------------------------------------------------------------------


def test_the_name_says_whether_a_local_search_followed() -> None:
    assert gl.GauS().name == "gaus"
    assert gl.GauS(refine=0).name == "gaus-plain"
    with pytest.raises(gl.SolverError, match="refine must be a share"):
        gl.GauS(refine=1)


def test_refinement_has_its_share_of_the_steps() -> None:
    problem = gl.FootprintProblem(gl.datasets.random_dag(200, 400, seed=3), horizon=40)
    stop = gl.MaxSteps(200)
    plain = gl.solve(problem, gl.GauS(refine=0), stop=gl.MaxSteps(100))
    refined = gl.solve(problem, gl.GauS(refine=0.5), stop=stop)
    assert (plain.steps, refined.steps) == (100, 200)
    assert refined.objective < plain.objective
