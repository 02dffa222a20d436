"""The command line on good input: output, files, exit status, interrupts."""

from __future__ import annotations

import csv
import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gaus_lab import cli
from gaus_lab.cli import lab, solving
from gaus_lab.cli.comparing import graph_names
from gaus_lab.datasets import load
from gaus_lab.errors import GausLabWarning
from gaus_lab.graph import Graph
from gaus_lab.problem import LatencyProblem

pytestmark = pytest.mark.fast


class Answer(NamedTuple):
    status: int
    out: str
    err: str


Command = Callable[..., Answer]


@pytest.fixture
def gaus_lab(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run one command line, given as one text, in this process."""

    def run(line: str, *words: object) -> Answer:
        status = cli.main([*line.split(), *map(str, words)])
        out, err = capsys.readouterr()
        if status == 0:
            assert "gaus-lab: error" not in err
        else:
            assert err.count("gaus-lab: error: ") == 1
        return Answer(status, out, err)

    return run


def table(text: str) -> dict[str, str]:
    """Return name and value of the rows of a two-column table."""
    rows = (line.strip().split("  ", 1) for line in text.splitlines() if "  " in line.strip())
    return {name: value.strip() for name, value in rows}


# ---- info -----------------------------------------------------------------------------------------------------


def test_info(gaus_lab: Command) -> None:
    answer = gaus_lab("info ewf_loop")
    assert answer.status == 0 and answer.err == ""
    assert answer.out.splitlines() == [
        "graph                          ewf_loop",
        "operations                     34",
        "edges                          58",
        "loop-carried edges             11, distance 1",
        "weights                        1, sum 34",
        "bits                           1, sum 34",
        "edge costs                     1, sum 58",
        "critical path                  17 steps",
        "depth                          14 operations on the longest path",
        "ASAP peak usage                ALU 4, MUL 4",
        "ASAP communication             123",
        "limits                         MUL 1, ALU 2",
        "ResMII, RecMII, MII            16, 16, 16",
        "mobility at the critical path  0 to 8, median 0",
        "  mobility 0                   24",
        "  mobility 1                   4",
        "  mobility 2-3                 4",
        "  mobility 8-15                2",
        "",
        "type  resource  operations  latency  occupancy  weight",
        "add   ALU       26          1        1          1",
        "mul   MUL       8           2        2          1",
    ]
    assert gaus_lab("info ewf_loop") == answer


def test_info_on_an_empty_graph_and_on_large_and_fractional_numbers(
    gaus_lab: Command, tmp_path: Path
) -> None:
    path = tmp_path / "g.json"
    path.write_text('{"ops": []}')
    answer = gaus_lab("info", path)
    assert (answer.status, table(answer.out)["operations"], table(answer.out)["depth"][0]) == (0, "0", "0")
    path.write_text('{"ops": [{"name": "a", "weight": 0.5, "bits": 1234567}, {"name": "b"}]}')
    rows = table(gaus_lab("info", path).out)
    assert (rows["weights"], rows["bits"]) == ("0.5 to 1.0, sum 1.5", "1 to 1234567, sum 1234568")
    assert (rows["loop-carried edges"], rows["edge costs"], rows["limits"]) == ("0", "none, sum 0", "none")


def test_info_is_quick_on_a_large_graph(gaus_lab: Command, tmp_path: Path) -> None:
    path = tmp_path / "g.aag"
    n = 100_000
    ands = "".join(f"{2 * i} {2 * i - 2} {2 * i - 4}\n" for i in range(3, n + 1))
    path.write_text(f"aag {n} 2 0 1 {n - 2}\n2\n4\n{2 * n}\n{ands}")
    began = time.perf_counter()
    answer = gaus_lab("info", path)
    assert table(answer.out)["operations"] == str(n)
    assert time.perf_counter() - began < 15


# ---- solve and verify -----------------------------------------------------------------------------------------


def test_solve_prints_and_writes_the_same(gaus_lab: Command, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    answer = gaus_lab("solve hal --formulation R --solver list --limit MUL=2 --limit ALU=1 --seed 4 -o", out)
    assert (answer.status, answer.err) == (0, "")
    rows = table(answer.out)
    data = json.loads(out.read_text())
    assert (rows["objective"], rows["solver"], rows["peak usage"]) == ("8", "list, seed 4", "MUL 2, ALU 1")
    assert (data["objective"], data["seed"], data["problem"]["limits"]) == (8, 4, {"MUL": 2, "ALU": 1})
    assert answer.out.splitlines()[-1] == f"written to {out}"
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_output_is_the_same_in_every_run(gaus_lab: Command) -> None:
    line = "solve ewf --formulation A --stretch 1.5 --solver list --seconds 60"
    assert gaus_lab(line) == gaus_lab(line)


def test_verify_agrees_with_solve(gaus_lab: Command, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    for formulation, solver in (("A", "list"), ("B", "list"), ("R", "list"), ("C", "asap")):
        graph = "iir2" if formulation == "C" else "hal"
        more = "--ii 9 --limit MUL=9 --limit ALU=9" if formulation == "C" else ""
        solved = gaus_lab(f"solve {graph} --formulation {formulation} --solver {solver} {more} -o", out)
        assert solved.status == 0, formulation
        answer = gaus_lab(f"verify {graph}", out)
        assert (answer.status, answer.err) == (0, "")
        rows = table(answer.out)
        assert (rows["verdict"], rows["violations"]) == ("legal", "0")
        assert rows["objective recorded"] == rows["objective recomputed"] == table(solved.out)["objective"]


@pytest.mark.parametrize(
    ("option", "horizon"),
    [("", 6), ("--horizon 11", 11), ("--stretch 1", 6), ("--stretch 1.5", 9), ("--stretch 1.49", 8)],
)
def test_horizon(option: str, horizon: int, gaus_lab: Command, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    gaus_lab(f"solve hal --formulation A --solver asap {option} -o", out)
    assert json.loads(out.read_text())["problem"]["horizon"] == horizon


def test_stretch_is_computed_exactly(gaus_lab: Command, tmp_path: Path) -> None:
    path, out = tmp_path / "g.json", tmp_path / "r.json"
    path.write_text('{"ops": [{"name": "a", "latency": 100}]}')
    assert int(1.15 * 100) == 114  # as floating point has it
    gaus_lab("solve --formulation A --solver asap --stretch 1.15", path, "-o", out)
    assert json.loads(out.read_text())["problem"]["horizon"] == 115


def test_stretch_of_a_loop_counts_its_own_critical_path(gaus_lab: Command, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    gaus_lab("solve ewf_loop --formulation C --solver asap --ii 40 --stretch 2 -o", out)
    problem = json.loads(out.read_text())["problem"]
    assert (problem["ii"], problem["horizon"]) == (40, 34)


def test_weights(gaus_lab: Command, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    line = "solve hal --formulation A --solver asap"
    for options, resource, communication in (
        ("", 1, 0),
        ("--weights balanced", 3, 1),
        ("--resource-weight 5", 5, 0),
        ("--communication-weight 7", 1, 7),
        ("--resource-weight 0 --communication-weight 2", 0, 2),
    ):
        gaus_lab(f"{line} {options} -o", out)
        problem = json.loads(out.read_text())["problem"]
        assert problem["resource_weights"] == {"MUL": resource, "ALU": resource}, options
        assert problem["communication_weight"] == communication, options


def test_latency_overrides_that_of_every_operation(gaus_lab: Command, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    solved = gaus_lab("solve hal --formulation R --solver asap --latency 0 -o", out)
    assert table(solved.out)["objective"] == "1"
    assert json.loads(out.read_text())["problem"]["latency"] == 0
    answer = gaus_lab("verify hal", out)
    assert (answer.status, answer.err) == (0, "")


def test_limit_stands_beside_the_graphs_own(gaus_lab: Command, tmp_path: Path) -> None:
    path, out = tmp_path / "g.json", tmp_path / "r.json"
    ops = [{"name": "a", "type": "x=y"}, {"name": "b", "type": "z"}]
    path.write_text(json.dumps({"ops": ops, "limits": {"z": 3, "x=y": 5}}))
    gaus_lab("solve --formulation R --solver asap --limit x=y=2", path, "-o", out)
    assert json.loads(out.read_text())["problem"]["limits"] == {"z": 3, "x=y": 2}


def test_warning_is_one_line(gaus_lab: Command) -> None:
    answer = gaus_lab("solve hal --formulation A --solver asap --limit DIV=2")
    assert answer.status == 0
    assert answer.err.startswith("gaus-lab: warning: limit of 'DIV' has no effect")
    assert answer.err.count("\n") == 1


def test_infeasible_problem_is_written_too(gaus_lab: Command, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    answer = gaus_lab("solve hal --formulation A --solver list --horizon 5 -o", out)
    assert answer.status == 1
    assert answer.err.startswith("gaus-lab: error: no schedule: the horizon is 5 steps")
    data = json.loads(out.read_text())
    assert (data["status"], data["start"], data["objective"]) == ("infeasible", None, None)
    answer = gaus_lab("verify hal", out)
    assert (answer.status, answer.err) == (
        1,
        f"gaus-lab: error: {out} has no schedule; its status is infeasible\n",
    )


def test_unknown_result_is_written_too(gaus_lab: Command, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    answer = gaus_lab("solve hal --formulation A --solver asap --limit MUL=2 --horizon 20 -o", out)
    assert answer.status == 1 and "asap found no legal schedule" in answer.err
    assert json.loads(out.read_text())["status"] == "unknown"


def test_existing_file_is_replaced_and_devices_are_written_through(gaus_lab: Command, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    out.write_text("old")
    assert gaus_lab("solve hal --formulation R --solver asap -o", out).status == 0
    assert json.loads(out.read_text())["objective"] == 6
    assert gaus_lab("solve hal --formulation R --solver asap -o /dev/null").status == 0
    assert not Path("/dev/null").is_file()


def test_gaus_is_the_default_and_zero_seconds_are_enough_for_a_schedule(
    gaus_lab: Command, tmp_path: Path
) -> None:
    out = tmp_path / "r.json"
    answer = gaus_lab("solve hal --formulation A --stretch 1.5 --seconds 0 --device cpu -o", out)
    assert answer.status == 0
    data = json.loads(out.read_text())
    assert (data["solver"], data["device"], data["settings"]["device"]) == ("gaus", "cpu", "cpu")
    assert gaus_lab("verify hal", out).status == 0


def test_a_gpu_that_is_not_there(gaus_lab: Command) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    answer = gaus_lab("solve hal --formulation A --device cuda")
    assert answer.status == 2 and "device 'cuda' is not available" in answer.err


# ---- verify on tampered files ---------------------------------------------------------------------------------


@pytest.fixture
def tampered(gaus_lab: Command, tmp_path: Path) -> Callable[..., Path]:
    """Write a result of `hal` with changes to its data."""
    out = tmp_path / "r.json"
    gaus_lab("solve hal --formulation A --solver list --stretch 1.5 --limit MUL=2 -o", out)

    def change(edit: Callable[[dict[str, Any]], object]) -> Path:
        data = json.loads(out.read_text())
        edit(data)
        out.write_text(json.dumps(data))
        return out

    return change


def test_each_violation_is_named(tampered: Callable[..., Path], gaus_lab: Command) -> None:
    path = tampered(lambda data: data["start"].update(dict.fromkeys(data["start"], 0)))
    answer = gaus_lab("verify hal", path)
    assert answer.status == 1
    assert "precedence three_x -> damping violated: result at 2, start at 0 (distance 0)" in answer.out
    assert "capacity of MUL violated in steps 0 to 1: usage 6, limit 2" in answer.out
    assert table(answer.out)["violations"] == "9"
    assert f"{path} breaks 9 constraints, the first: precedence" in answer.err


def test_a_late_operation_and_a_negative_start(tampered: Callable[..., Path], gaus_lab: Command) -> None:
    last = tampered(lambda data: data["start"].update(y_next=99))
    assert "horizon of y_next violated: ends at 100, horizon 9" in gaus_lab("verify hal", last).out
    first = tampered(lambda data: data["start"].update(three_x=-1))
    answer = gaus_lab("verify hal", first)
    assert (answer.status, "start of three_x violated: starts at -1" in answer.out) == (1, True)


def test_violations_are_capped(gaus_lab: Command, tmp_path: Path) -> None:
    path, out = tmp_path / "g.json", tmp_path / "r.json"
    ops = [{"name": f"v{i}"} for i in range(30)]
    edges = [{"src": f"v{i}", "dst": f"v{i + 1}"} for i in range(29)]
    path.write_text(json.dumps({"ops": ops, "edges": edges}))
    problem = {"formulation": "R"}
    start = {f"v{i}": 0 for i in range(30)}
    out.write_text(
        json.dumps({"format": "gaus-lab/result", "version": 1, "problem": problem, "start": start})
    )
    answer = gaus_lab("verify", path, out)
    assert answer.status == 1
    assert answer.out.count("precedence v") == 20
    assert answer.out.splitlines()[-1] == "and 9 more"
    assert table(answer.out)["objective recorded"] == "none"


def test_another_objective_is_found_out(tampered: Callable[..., Path], gaus_lab: Command) -> None:
    path = tampered(lambda data: data.update(objective=data["objective"] - 1))
    answer = gaus_lab("verify hal", path)
    assert (answer.status, table(answer.out)["verdict"]) == (1, "legal")
    assert answer.err.endswith("records objective 2, its starts have 3\n")


def test_missing_objective_is_no_mismatch(tampered: Callable[..., Path], gaus_lab: Command) -> None:
    keep = ("format", "version", "problem", "start")
    path = tampered(lambda data: [data.pop(key) for key in list(data) if key not in keep])
    assert gaus_lab("verify hal", path).status == 0


def test_another_graph_with_the_same_names_is_a_warning(
    tampered: Callable[..., Path], gaus_lab: Command, tmp_path: Path
) -> None:
    result = tampered(lambda data: None)
    ops = [{"name": op, "type": "mul", "latency": 1} for op in load("hal").ops]
    path = tmp_path / "g.json"
    path.write_text(json.dumps({"ops": ops}))
    answer = gaus_lab("verify", path, result)
    assert "gaus-lab: warning: " in answer.err and "was made with another graph" in answer.err


def test_another_graph_with_other_names_is_bad_input(
    tampered: Callable[..., Path], gaus_lab: Command
) -> None:
    path = tampered(lambda data: None)
    answer = gaus_lab("verify ewf", path)
    assert answer.status == 2
    assert answer.err.startswith(f"gaus-lab: error: {path}: the schedule has an unknown operation 'three_x'")


# ---- compare, data, lab ---------------------------------------------------------------------------------------


def test_compare(gaus_lab: Command, tmp_path: Path) -> None:
    out = tmp_path / "r.csv"
    line = "compare hal mac --formulation A --stretch 1.5 --solvers asap --seconds 30 --seeds 2 --jobs 2 -o"
    answer = gaus_lab(line, out)
    assert (answer.status, answer.err) == (0, "")
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [(row["graph"], row["seed"]) for row in rows] == [(g, s) for g in ("hal", "mac") for s in "01"]
    assert all(float(row["peak_memory_mb"]) > 10 and float(row["seconds"]) >= 0 for row in rows)
    assert answer.out.splitlines()[-1] == f"written to {out}"
    assert len(answer.out.splitlines()) == 1 + 4 + 1


def test_compare_goes_on_from_a_file(gaus_lab: Command, tmp_path: Path) -> None:
    line = "compare hal --formulation A --solvers asap,alap --resume"
    first = gaus_lab(line, tmp_path / "runs.jsonl")
    before = (tmp_path / "runs.jsonl").read_bytes()
    again = gaus_lab(line, tmp_path / "runs.jsonl")
    assert (again.status, again.out) == (first.status, first.out)
    assert (tmp_path / "runs.jsonl").read_bytes() == before != b""
    (tmp_path / "notes").write_text("mine\n")
    refused = gaus_lab(line, tmp_path / "notes")
    assert refused.status == 2 and "notes:1: not a file of records" in refused.err
    assert (tmp_path / "notes").read_text() == "mine\n"


def test_ablate(gaus_lab: Command, tmp_path: Path) -> None:
    line = "ablate rho hal --formulation A --seconds 0.1 --seeds 2 --figure"
    answer = gaus_lab(line, tmp_path / "rho.png")
    assert answer.status == 0
    rows = answer.out.splitlines()
    assert "mean" in rows[0] and len([row for row in rows if row.startswith("hal")]) == 4
    assert (tmp_path / "rho.png").read_bytes()[:4] == b"\x89PNG"
    wrong = gaus_lab(line, tmp_path / "rho.txt")
    assert wrong.status == 2 and "a figure must end in .png, .pdf, .svg" in wrong.err


def test_tight_limits_break_asap(gaus_lab: Command) -> None:
    line = "compare ewf --formulation C --recurrences 3 --tight 0.5 --seconds 5 --solvers"
    assert gaus_lab(f"{line} asap").status == 1
    assert gaus_lab(f"{line} ims").status == 0
    forced = gaus_lab("solve ewf --formulation C --recurrences 3 --tight 1 --stretch 1 --solver ims")
    assert forced.status == 1 and "force 4 units of ALU in some slot of II 10, the limit is 3" in forced.err


def test_compare_in_markdown_with_a_run_that_fails(gaus_lab: Command) -> None:
    line = "compare hal --formulation A --solvers asap,list --horizon 20 --limit MUL=1 --markdown"
    answer = gaus_lab(line)
    assert answer.status == 1
    assert answer.err == "gaus-lab: error: 1 of 2 runs found no schedule; the status column says why\n"
    header, _, row = answer.out.splitlines()
    assert header == "| graph | operations | horizon | asap | list | bound | list s | list MB |"
    assert row.startswith("| hal | 11 | 20 | unknown | 2 | 2 |")


def test_patterns_name_each_graph_once() -> None:
    assert graph_names(["epfl/a*", "epfl/adder", "hal"]) == ["epfl/adder", "epfl/arbiter", "hal"]
    assert len(graph_names(["epfl/*"])) == 20
    assert len(graph_names(["rw/*"])) == 18
    assert graph_names(["rw/RW_[12]"]) == ["rw/RW_1", "rw/RW_2"]


def test_a_file_may_have_the_name_of_a_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("g[1].json").write_text('{"ops": []}')
    assert graph_names(["g[1].json"]) == ["g[1].json"]


def test_data(gaus_lab: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAUS_LAB_CACHE", str(tmp_path))
    assert gaus_lab("data path").out == f"{tmp_path}\n"
    assert gaus_lab("data fetch hal").out.endswith("hal.json\n")
    listed = gaus_lab("data list").out
    assert listed.splitlines()[0].split() == ["name", "kind", "where", "here"]
    assert any(line.startswith("epfl/ctrl ") for line in listed.splitlines())


def test_lab_becomes_jupyter(gaus_lab: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "first.ipynb").touch()
    monkeypatch.setattr(lab.gaus_lab, "__file__", str(tmp_path / "gaus_lab" / "__init__.py"))
    monkeypatch.setattr(lab, "find_spec", lambda name: object())
    started: list[list[str]] = []
    monkeypatch.setattr(lab.os, "execv", lambda path, words: started.append(words))
    lab.run(None)
    [words] = started
    assert words[:3] == [sys.executable, "-m", "jupyterlab"]
    assert words[-1] == str(tmp_path / "notebooks")


def test_lab_without_notebooks_or_without_jupyter(
    gaus_lab: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lab.gaus_lab, "__file__", str(tmp_path / "site" / "gaus_lab" / "__init__.py"))
    monkeypatch.setattr(lab, "find_spec", lambda name: object())
    answer = gaus_lab("lab")
    assert answer.status == 2 and "there are no notebooks in" in answer.err
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    assert "pip install gaus-lab[notebook]" in gaus_lab("lab").err


def test_help_and_version(gaus_lab: Command) -> None:
    assert gaus_lab("--version").out.startswith("gaus-lab 0.")
    for command in ("", "info", "solve", "min-ii", "verify", "compare", "ablate", "data", "lab"):
        answer = gaus_lab(f"{command} --help")
        assert answer.status == 0 and answer.out.startswith("usage: gaus-lab")
    assert "default 10" in gaus_lab("solve --help").out


# ---- progress -------------------------------------------------------------------------------------------------


def test_progress_stands_on_a_terminal_only(gaus_lab: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "solve ewf --formulation A --stretch 1.5 --solver list --seconds 5"
    silent = gaus_lab(line)
    assert silent.err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("gaus_lab.cli.progress._PAUSE", 0.0)
    shown = gaus_lab(line)
    assert shown.out == silent.out
    assert "/5.0 s" in shown.err and "step 2, best " in shown.err


# ---- interrupts and warnings ----------------------------------------------------------------------------------


def test_interrupt_before_the_search(
    gaus_lab: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            signal.raise_signal(signal.SIGINT)
            return function(*args)

        return run

    line = "solve hal --formulation A --solver list"
    with monkeypatch.context() as patch:
        patch.setattr(solving, "load_or_read", interrupted(solving.load_or_read))
        answer = gaus_lab(line)
        assert (answer.status, answer.out) == (1, "")
        assert answer.err == "gaus-lab: error: no schedule: interrupted before the search began\n"
    monkeypatch.setattr(solving, "solver_of", interrupted(solving.solver_of))
    assert gaus_lab(line).status == 0  # the search ends at its first schedule
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_warnings_reach_python_callers_as_before(gaus_lab: Command) -> None:
    assert gaus_lab("solve hal --formulation R --solver asap --limit DIV=2").err != ""
    graph = Graph.build(["a"])
    with pytest.warns(GausLabWarning, match="no effect"):
        LatencyProblem(graph, limits={"b": 1})
