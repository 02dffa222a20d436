"""Results: tables, the result file, and what becomes of an interrupted search."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gaus_lab import run as run_module
from gaus_lab.analysis import asap
from gaus_lab.errors import GausLabError, GausLabWarning
from gaus_lab.graph import Graph
from gaus_lab.problem import FootprintProblem, LatencyProblem, ModuloProblem, Problem, ResourceProblem
from gaus_lab.result import Status, graph_identity, read_result
from gaus_lab.solve import solve
from gaus_lab.solvers.extremes import Asap

pytestmark = pytest.mark.fast

KEYS = [
    *("format", "version", "graph", "problem", "solver", "settings", "seed", "device", "status", "objective"),
    *("terms", "bound", "start", "ii", "seconds", "history"),
]
PROBLEM_KEYS = ["formulation", "horizon", "ii", "limits", "resource_weights", "communication_weight"]


@pytest.fixture
def graph() -> Graph:
    """Two multiplications, their sum, and an operation whose name needs escaping."""
    ops = [{"name": n, "type": "mul"} for n in "ab"] + [{"name": "<c>", "type": "add"}, "d&d"]
    return Graph.build(ops, [("a", "<c>"), ("b", "<c>"), ("<c>", "d&d")], name="<small>")


@pytest.fixture
def problem(graph: Graph) -> ResourceProblem:
    return ResourceProblem(graph, horizon=4, communication_weight=2)


def write(path: Path, **changes: Any) -> Path:
    """Write a result file of the graph above; None as a change removes a key."""
    data: dict[str, Any] = {
        "format": "gaus-lab/result",
        "version": 1,
        "problem": {"formulation": "A", "horizon": 4},
        "start": {"a": 0, "b": 1, "<c>": 2, "d&d": 3},
    }
    data |= changes
    path.write_text(json.dumps({k: v for k, v in data.items() if v is not None}))
    return path


# ---- tables ---------------------------------------------------------------------------------------------------


def test_text_and_html_are_the_same_for_equal_results(problem: Problem) -> None:
    first, second = solve(problem, Asap()), solve(problem, Asap())
    assert first.seconds != second.seconds
    assert repr(first) == repr(second)
    assert first._repr_html_() == second._repr_html_()


def test_text_says_what_is_known(problem: Problem) -> None:
    assert repr(solve(problem, Asap())).splitlines() == [
        "ResourceProblem(Graph('<small>', 4 operations, 3 edges), horizon 4)",
        "status         feasible",
        "solver         asap, seed 0",
        "objective      10",
        "lower bound    9 (gap 10.0 %)",
        "peak usage     mul 2, add 1, op 1",
        "communication  3",
        "footprint      2",
        "makespan       3",
    ]


def test_html_is_escaped(problem: Problem) -> None:
    html = solve(problem, Asap())._repr_html_()
    assert "<small>" not in html and "&lt;small&gt;" in html


def test_gap(problem: Problem) -> None:
    result = solve(problem, Asap())
    assert result.gap == (result.objective - result.bound) / result.objective
    assert solve(problem, Asap(), bound=False).gap is None
    assert solve(LatencyProblem(Graph.build([])), Asap()).gap == 0.0


def test_infeasible_result_has_a_reason_and_no_schedule(graph: Graph) -> None:
    result = solve(ResourceProblem(graph, horizon=2), Asap())
    assert (result.status, result.schedule, result.objective) == (Status.INFEASIBLE, None, None)
    assert "the horizon is 2 steps, the dependences need 3" in dict(result.rows())["reason"]


# ---- the file -------------------------------------------------------------------------------------------------


def test_file_has_exactly_the_keys_of_the_format(problem: Problem, tmp_path: Path) -> None:
    solve(problem, Asap(), seed=3).save(tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text())
    assert list(data) == KEYS
    assert list(data["problem"]) == PROBLEM_KEYS
    assert list(data["graph"]) == ["name", "ops", "edges", "sha256"]
    assert list(data["terms"]) == ["peak_usage", "communication", "footprint", "makespan"]
    assert data["start"] == {"a": 0, "b": 0, "<c>": 1, "d&d": 2}
    assert data["terms"]["peak_usage"] == {"mul": 2, "add": 1, "op": 1}
    assert (data["objective"], data["seed"], data["solver"], data["settings"]) == (10, 3, "asap", {})
    assert [objective for _, objective in data["history"]] == [10]
    exact = [data["objective"], data["bound"], *data["start"].values(), *data["graph"].values()]
    assert not any(isinstance(value, float) for value in exact)


def test_file_without_a_schedule_says_why(graph: Graph) -> None:
    data = solve(FootprintProblem(graph, horizon=2), Asap()).to_dict()
    assert (data["start"], data["objective"], data["status"]) == (None, None, "infeasible")
    assert "horizon" in data["reason"]


def test_latency_is_recorded_only_where_it_was_given(problem: Problem) -> None:
    result = solve(problem, Asap())
    assert "latency" not in result.to_dict()["problem"]
    assert result.to_dict(latency=0)["problem"]["latency"] == 0


@pytest.mark.parametrize("kind", [ResourceProblem, FootprintProblem, LatencyProblem, ModuloProblem])
def test_round_trip(kind: type[Problem], graph: Graph, tmp_path: Path) -> None:
    problem = kind(graph, limits={"mul": 2})
    result = solve(problem, Asap())
    result.save(tmp_path / "r.json")
    stored = read_result(tmp_path / "r.json")
    again = stored.problem_on(graph)
    assert type(again) is kind and again.to_dict() == problem.to_dict()
    schedule = stored.schedule_on(again)
    assert schedule is not None and schedule.to_dict() == result.schedule.to_dict()
    assert stored.objective == result.objective
    assert stored.sha256 == graph_identity(graph)["sha256"]


def test_hold_outputs_and_latency_survive_the_round_trip(graph: Graph, tmp_path: Path) -> None:
    slow = graph.replace(latency=3)
    solve(FootprintProblem(slow, horizon=12, hold_outputs=True), Asap()).save(tmp_path / "r.json", latency=3)
    again = read_result(tmp_path / "r.json").problem_on(graph)
    assert isinstance(again, FootprintProblem) and again.hold_outputs
    assert graph_identity(again.graph) == graph_identity(slow)


def test_minimal_file_of_another_program(graph: Graph, tmp_path: Path) -> None:
    stored = read_result(write(tmp_path / "r.json"))
    problem = stored.problem_on(graph)
    assert (problem.formulation, problem.horizon, stored.objective, stored.sha256) == ("A", 4, None, None)
    assert stored.schedule_on(problem).to_dict() == {"a": 0, "b": 1, "<c>": 2, "d&d": 3}


def test_unknown_setting_is_ignored_with_a_warning(graph: Graph, tmp_path: Path) -> None:
    stored = read_result(write(tmp_path / "r.json", problem={"formulation": "R", "colour": 3}))
    with pytest.warns(GausLabWarning, match="problem.colour is unknown"):
        assert stored.problem_on(graph).formulation == "R"


def test_hash_tells_graphs_apart(graph: Graph) -> None:
    same = Graph.build(
        [{"name": op, "type": graph.type_of(op)} for op in graph.ops],
        [("a", "<c>"), ("b", "<c>"), ("<c>", "d&d")],
    )
    assert graph_identity(same)["sha256"] == graph_identity(graph)["sha256"]
    others = [graph.replace(latency=2), graph.replace(cost=0), graph.replace(distance=1)]
    hashes = {graph_identity(g)["sha256"] for g in (graph, *others)}
    assert len(hashes) == 4


# ---- bad files ------------------------------------------------------------------------------------------------

BAD_TEXT = {
    "": ":1: not a result file",
    "{": ":1: not a result file",
    "[]": "format must be 'gaus-lab/result', got []",
    "3": "format must be 'gaus-lab/result', got 3",
    "null": "format must be 'gaus-lab/result', got None",
    '{"format": "gaus-lab/graph"}': "got 'gaus-lab/graph'",
    '{"format": "gaus-lab/result", "format": "gaus-lab/result"}': "the key 'format' stands twice",
    '{"format": "gaus-lab/result", "version": NaN}': "NaN is no number",
    "[" * 100_000: "nested too deeply",
    "9" * 5000: "not a result file",
}


@pytest.mark.parametrize("text", BAD_TEXT, ids=lambda text: text[:40])
def test_text_that_is_no_result_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(GausLabError, match="r.json") as error:
        read_result(path)
    assert BAD_TEXT[text] in str(error.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(b"\x80\xff\x00")
    with pytest.raises(GausLabError, match="no UTF-8 text"):
        read_result(path)
    with pytest.raises(GausLabError, match="cannot read the result file: No such file"):
        read_result(tmp_path / "none.json")
    with pytest.raises(GausLabError, match="cannot read the result file: Is a directory"):
        read_result(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "version must be 1, got 2"),
        ({"version": True}, "version must be 1, got True"),
        ({"version": "1"}, "version must be 1, got '1'"),
        ({"version": None}, "version must be 1, got None"),
        ({"problem": None}, "problem must be an object, it is missing"),
        ({"problem": []}, "problem must be an object, got []"),
        ({"start": None}, "start must be an object or null, it is missing"),
        ({"start": [0, 1, 2, 3]}, "start must be an object or null"),
        ({"objective": "10"}, "objective must be an integer or null, got '10'"),
        ({"objective": 1.5}, "objective must be an integer or null, got 1.5"),
        ({"objective": True}, "objective must be an integer or null, got True"),
        ({"status": 3}, "status must be text, got 3"),
        ({"graph": "small"}, "graph must be an object, got 'small'"),
        ({"graph": {"sha256": 12}}, "graph.sha256 must be text, got 12"),
        ({"ii": 3}, "ii is 3, problem.ii is None"),
    ],
)
def test_field_of_the_wrong_kind(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(GausLabError, match="r.json: ") as error:
        read_result(write(tmp_path / "r.json", **changes))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "problem.formulation must be one of A, B, C, R, got None"),
        ({"formulation": "D"}, "problem.formulation must be one of A, B, C, R, got 'D'"),
        ({"formulation": ["A"]}, "problem.formulation must be one of A, B, C, R, got ['A']"),
        ({"formulation": "A", "horizon": "4"}, "problem.horizon must be an integer >= 0, got '4'"),
        ({"formulation": "A", "horizon": -1}, "problem.horizon must be >= 0, got -1"),
        ({"formulation": "A", "horizon": 4.5}, "problem.horizon must be an integer >= 0, got 4.5"),
        ({"formulation": "A", "horizon": True}, "problem.horizon must be an integer >= 0, got True"),
        ({"formulation": "A", "horizon": [4]}, "problem.horizon must be an integer >= 0, got [4]"),
        ({"formulation": "A", "ii": 2}, "problem.ii must be null, got 2: formulation A has none"),
        ({"formulation": "C"}, "problem.ii must be an integer >= 1, it is missing"),
        ({"formulation": "C", "ii": 0}, "problem.ii must be >= 1, got 0"),
        ({"formulation": "R", "limits": 3}, "problem.limits must be an object, got 3"),
        ({"formulation": "R", "limits": {"mul": "2"}}, "problem.limits.mul must be an integer >= 0, got '2'"),
        ({"formulation": "R", "limits": {"mul": None}}, "limit of mul must be an integer >= 0, got None"),
        ({"formulation": "R", "limits": {"mul": 0}}, "limit of mul must be >= 1, got 0"),
        ({"formulation": "A", "resource_weights": "1"}, "problem.resource_weights must be an integer"),
        ({"formulation": "A", "resource_weights": [1]}, "problem.resource_weights must be an integer"),
        ({"formulation": "A", "resource_weights": {"mul": -1}}, "problem.resource_weights.mul must be >= 0"),
        (
            {"formulation": "A", "communication_weight": 0.5},
            "problem.communication_weight must be an integer",
        ),
        ({"formulation": "B", "communication_weight": 1}, "must be null, got 1: formulation B has none"),
        ({"formulation": "B", "hold_outputs": 1}, "problem.hold_outputs must be true or false, got 1"),
        ({"formulation": "A", "hold_outputs": True}, "problem.hold_outputs must be null, got True"),
        ({"formulation": "A", "latency": -1}, "problem.latency must be >= 0, got -1"),
        ({"formulation": "A", "latency": "1"}, "problem.latency must be an integer >= 0, got '1'"),
    ],
)
def test_setting_of_the_wrong_kind(
    settings: dict[str, Any], message: str, graph: Graph, tmp_path: Path
) -> None:
    stored = read_result(write(tmp_path / "r.json", problem=settings))
    with pytest.raises(GausLabError, match="r.json: problem") as error:
        stored.problem_on(graph)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"a": 0}, "no start for operation 'b'"),
        ({"a": 0, "b": 1, "<c>": 2, "d&d": 3, "e": 4}, "an unknown operation 'e'"),
        ({"a": "0", "b": 1, "<c>": 2, "d&d": 3}, "start of a must be an integer, got '0'"),
        ({"a": None, "b": 1, "<c>": 2, "d&d": 3}, "start of a must be an integer"),
        ({"a": 0.5, "b": 1, "<c>": 2, "d&d": 3}, "start of a must be an integer"),
        ({"a": True, "b": 1, "<c>": 2, "d&d": 3}, "start of a must be an integer"),
        ({"a": {}, "b": 1, "<c>": 2, "d&d": 3}, "start of a must be an integer"),
        ({"a": 2**50, "b": 1, "<c>": 2, "d&d": 3}, "start of a must be <= 2**42"),
    ],
)
def test_start_of_the_wrong_kind(start: dict[str, Any], message: str, graph: Graph, tmp_path: Path) -> None:
    stored = read_result(write(tmp_path / "r.json", start=start))
    with pytest.raises(GausLabError, match="r.json: ") as error:
        stored.schedule_on(stored.problem_on(graph))
    assert message in str(error.value)


def test_save_names_what_is_wrong_with_the_place(problem: Problem, tmp_path: Path) -> None:
    result = solve(problem, Asap())
    for place in (tmp_path / "none" / "r.json", tmp_path, Path("/dev/full")):
        with pytest.raises(GausLabError, match=f"{place}: cannot write the file"):
            result.save(place)
    assert list(tmp_path.iterdir()) == []


# ---- interrupts -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Interrupted:
    """Offers ASAP, or nothing, and is interrupted."""

    offers: bool = True

    name: ClassVar[str] = "interrupted"
    formulations: ClassVar[frozenset[str]] = frozenset("A")

    def run(self, problem: Problem, run: run_module.Run) -> None:
        if self.offers:
            run.offer(asap(problem.graph))
        raise KeyboardInterrupt


def test_interrupt_in_the_search_keeps_the_best_schedule(problem: Problem) -> None:
    result = solve(problem, _Interrupted())
    assert (result.status, result.objective, result.interrupted) == (Status.FEASIBLE, 10, True)


def test_interrupt_before_the_first_schedule(problem: Problem) -> None:
    result = solve(problem, _Interrupted(offers=False))
    assert (result.status, result.reason) == (
        Status.UNKNOWN,
        "interrupted before the first schedule was found",
    )


@pytest.mark.parametrize("method", ["bound", "terms"])
def test_interrupt_after_the_search_keeps_the_schedule(
    method: str, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["gaus_lab.solve"], "MAX_EDGES_FOR_EARLY_BOUND", 0)
    original, calls = getattr(ResourceProblem, method), []

    def first_time_interrupted(self: Problem, *args: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(ResourceProblem, method, first_time_interrupted)
    result = solve(problem, Asap())
    assert (result.objective, result.interrupted) == (10, True)
    assert result.terms["communication"] == 3


def test_second_interrupt_ends_it(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Problem, schedule: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ResourceProblem, "terms", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve(problem, _Interrupted())


def test_seconds_are_those_of_the_search(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(run_module.time, "perf_counter", lambda: float(next(clock)))
    original = ResourceProblem.bound

    def slow_bound(self: ResourceProblem) -> int:
        for _ in range(100):
            next(clock)
        return original(self)

    monkeypatch.setattr(ResourceProblem, "bound", slow_bound)
    assert solve(problem, Asap()).seconds < 50
