"""`min_ii`, its horizon, and `critical_recurrence`."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from small_graphs import first_start, graphs

import gaus_lab as gl
from gaus_lab import cli
from gaus_lab.min_ii import MinII, serial_ii, sufficient_horizon
from gaus_lab.recurrence import critical_recurrence

QUICK = gl.IterativeModulo(attempts=6)


# ---- the reference table ------------------------------------------------------------------------------------


def test_reference_loops(data_dir: Path) -> None:
    """Bounds exact; a schedule at the proven smallest II on every loop for which one is known, and never below."""
    folder = data_dir / "modulo"
    rows = list(csv.DictReader((folder / "reference_ii.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 39
    missed = []
    for row in rows:
        graph = gl.read(folder / f"{row['instance']}.json")
        assert (graph.n_ops, graph.n_edges) == (int(row["ops"]), int(row["edges"]))
        least, recurrence, both = (ceil(Fraction(row[key])) for key in ("ResMII", "RecMII", "MII"))
        bounds = [least if graph.limits else 0, recurrence, both]  # without limits the table says 1
        assert [gl.res_mii(graph), gl.rec_mii(graph), gl.mii(graph)] == bounds
        found = gl.min_ii(graph, solver=QUICK)
        assert found.result is not None
        assert gl.verify(found.result.problem, found.result.schedule) == []
        assert [found.res_mii, found.rec_mii, found.mii] == bounds
        assert found.proven == (found.ii == found.mii)
        known = int(row["min_II_proven"] or row["MII"])
        assert found.ii >= known
        if found.ii > known:
            missed.append(row["instance"])
    assert missed == []


# ---- against all schedules ----------------------------------------------------------------------------------


@pytest.mark.fast
@given(graphs(min_ops=1, max_ops=5, max_edges=6, max_distance=2, max_latency=2), st.integers(1, 2))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_smallest_ii_is_the_smallest(graph: gl.Graph, units: int) -> None:
    graph = graph.replace(weight=1)  # as the search through all starts counts
    limits = dict.fromkeys(graph.resources, units)
    found = gl.min_ii(graph, limits, QUICK)
    assert found.result is not None
    assert found.ii <= serial_ii(graph)
    assert gl.verify(found.result.problem, found.result.schedule) == []
    for ii in range(found.mii, found.ii):
        horizon = sufficient_horizon(graph, ii, limits)
        assume(horizon <= 12)
        assert first_start(graph, horizon, limits, ii) is None


@pytest.mark.fast
@given(
    graphs(min_ops=1, max_ops=4, max_edges=5, max_distance=2, max_latency=2),
    st.integers(1, 2),
    st.integers(1, 4),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_more_than_the_sufficient_horizon_is_of_no_use(graph: gl.Graph, units: int, ii: int) -> None:
    graph = graph.replace(weight=1)
    assume(ii >= gl.rec_mii(graph))
    limits = dict.fromkeys(graph.resources, units)
    enough = sufficient_horizon(graph, ii, limits)
    assume(enough <= 10)
    if first_start(graph, enough, limits, ii) is None:
        assert first_start(graph, enough + 4, limits, ii) is None


@pytest.mark.fast
@given(graphs(min_ops=1, max_ops=5, max_edges=6, max_distance=2), st.integers(1, 2), st.integers(1, 4))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_larger_ii_is_feasible_too(graph: gl.Graph, units: int, ii: int) -> None:
    """An empty slot before slot 0, all slots and stages kept."""
    graph = graph.replace(weight=1)
    limits = dict.fromkeys(graph.resources, units)
    problem = gl.ModuloProblem(graph, limits=limits, ii=ii)
    assume(problem.horizon <= 9)
    start = first_start(graph, problem.horizon, limits, ii)
    assume(start is not None)
    schedule = problem.schedule(start)
    longer = gl.ModuloProblem(graph, 2 * problem.horizon, limits, ii=ii + 1)
    assert gl.verify(longer, longer.schedule(schedule.slot + 1 + schedule.stage * (ii + 1))) == []


@pytest.mark.fast
@given(graphs(max_ops=6, max_edges=12, max_distance=2))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_critical_recurrence_attains_the_bound(graph: gl.Graph) -> None:
    cycle, bound = gl.critical_recurrence(graph), gl.rec_mii(graph)
    assert (cycle == []) == (bound == 0)
    for e, follower in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        assert graph.dst[e] == graph.src[follower]
    if cycle:
        assert len(set(graph.src[cycle])) == len(cycle)
        assert ceil(Fraction(int(graph.lag[cycle].sum()), int(graph.distance[cycle].sum()))) == bound


# ---- single cases -------------------------------------------------------------------------------------------


@pytest.mark.fast
def test_the_cycle_is_named_from_its_first_edge() -> None:
    edges = [
        ("a", "b"),
        ("b", "c"),
        {"src": "c", "dst": "a", "distance": 1},
        {"src": "b", "dst": "a", "distance": 1},
    ]
    graph = gl.Graph.build(["a", {"name": "b", "latency": 3}, {"name": "c", "latency": 2}], edges)
    assert critical_recurrence(graph) == [0, 1, 2]
    assert critical_recurrence(graph.replace(distance=[0, 0, 3, 1])) == [0, 3]
    assert critical_recurrence(gl.Graph.build([])) == []


@pytest.mark.fast
def test_every_ii_is_shown_with_its_reason() -> None:
    found = gl.min_ii(gl.load("ewf_loop"), {"MUL": 1, "ALU": 2})
    assert isinstance(found, MinII)
    assert (found.ii, found.mii, found.res_mii, found.rec_mii, found.proven) == (19, 16, 16, 16, False)
    assert [trial.ii for trial in found.tried] == [16, 17, 18, 19]
    assert [str(trial.status) for trial in found.tried[:3]] == ["unknown"] * 3
    assert "II 18                unknown: ims found no legal schedule" in repr(found)
    assert "smallest II          19 (smaller ones not excluded)" in repr(found)
    assert found._repr_html_().count("<tr>") == len(found.rows())


@pytest.mark.fast
def test_an_exact_solver_proves_it() -> None:
    pytest.importorskip("ortools")
    # Three steps apart in both directions: at II 3 both need the same slot.
    there, back = (
        {"src": "a", "dst": "b", "latency": 3},
        {"src": "b", "dst": "a", "distance": 2, "latency": 3},
    )
    found = gl.min_ii(gl.Graph.build(["a", "b"], [there, back]), {"op": 1}, gl.CpSat())
    assert (found.ii, found.mii, found.proven) == (4, 3, True)
    assert [str(trial.status) for trial in found.tried] == ["infeasible", "optimal"]


@pytest.mark.fast
def test_empty_and_hopeless() -> None:
    found = gl.min_ii(gl.Graph.build([]))
    assert (found.ii, found.proven) == (1, True)
    found = gl.min_ii(gl.Graph.build([{"name": "a", "weight": 3}, "b"]), {"op": 2})
    assert (found.ii, found.result, found.proven, len(found.tried)) == (None, None, True, 1)
    assert "uses 3 units of op, the limit is 2" in found.tried[0].reason
    assert "no II is feasible" in repr(found)


@pytest.mark.fast
def test_a_horizon_that_is_given_binds() -> None:
    graph = gl.Graph.build(["a", "b", "c"])
    found = gl.min_ii(graph, {"op": 1}, horizon=2)
    assert (found.ii, found.proven) == (None, True)
    assert [trial.ii for trial in found.tried] == [3]
    found = gl.min_ii(graph, {"op": 2}, horizon=1, max_ii=5)
    assert (found.ii, found.proven) == (None, True)
    assert [trial.ii for trial in found.tried] == [2]


@pytest.mark.fast
def test_bad_arguments() -> None:
    graph = gl.Graph.build(["a"])
    with pytest.raises(gl.ProblemError, match="max_ii must be >= 1, got 0"):
        gl.min_ii(graph, max_ii=0)
    with pytest.raises(gl.ProblemError, match="limit of op must be >= 1, got 0"):
        gl.min_ii(graph, {"op": 0})
    with pytest.raises(gl.SolverError, match="does not support formulation C"):
        gl.min_ii(graph, solver=gl.ListScheduling())
    with pytest.warns(gl.GausLabWarning) as caught:
        gl.min_ii(graph, {"MUL": 1})
    assert len(caught) == 1


# ---- the command line ---------------------------------------------------------------------------------------


@pytest.mark.fast
def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    line = ["min-ii", "ewf_loop", "--limit", "MUL=2", "--limit", "ALU=2", "--seed", "0", "-o", str(out)]
    assert cli.main(line) == 0
    printed = capsys.readouterr().out
    assert "smallest II          17 (smaller ones not excluded)" in printed
    data = json.loads(out.read_text(encoding="utf-8"))
    assert (data["ii"], data["solver"], data["seed"], data["problem"]["ii"]) == (17, "ims", 0, 17)
    assert cli.main(["verify", "ewf_loop", str(out)]) == 0


@pytest.mark.fast
@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        (
            "min-ii ewf_loop --limit MUL=1 --limit ALU=2 --max-ii 17",
            1,
            "no II found: II 17: ims found no legal",
        ),
        ("min-ii ewf_loop --max-ii 3", 1, "no II found: none was tried"),
        ("min-ii ewf_loop --solver list", 2, "does not support formulation C"),
        ("min-ii ewf_loop --solver imms", 2, "did you mean ims?"),
        ("min-ii ewf_loop --limit MUL=1 --limit MUL=2", 2, "--limit 'MUL' is given twice"),
        ("min-ii no-such-graph", 2, "no-such-graph"),
        ("min-ii ewf_loop --limit MUL=0", 2, "limit of MUL must be >= 1, got 0"),
        ("min-iii ewf_loop", 2, "did you mean min-ii"),
    ],
)
def test_command_that_fails(line: str, status: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(line.split()) == status
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
