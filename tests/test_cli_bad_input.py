"""The command line on bad input: exit status 2, one line that says what is wrong, nothing written."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gaus_lab import cli
from gaus_lab.cli import solving

pytestmark = pytest.mark.fast

RESULT = {
    "format": "gaus-lab/result",
    "version": 1,
    "problem": {"formulation": "A", "horizon": 3},
    "start": {"a": 0, "b": 1},
}


@pytest.fixture(autouse=True)
def folder(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A current folder with a graph and its result; the command must not change what is in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GAUS_LAB_DATA", raising=False)
    monkeypatch.setenv("GAUS_LAB_CACHE", str(tmp_path_factory.mktemp("cache")))
    Path("g.json").write_text('{"ops": [{"name": "a"}, {"name": "b"}], "edges": [{"src": "a", "dst": "b"}]}')
    Path("half.json").write_text('{"ops": [{"name": "a", "weight": 0.5}]}')
    Path("r.json").write_text(json.dumps(RESULT))
    Path("folder").mkdir()
    before = sorted(path.name for path in tmp_path.iterdir())
    yield tmp_path
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the message of a command line that is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cli.main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("gaus-lab: error: ") and err.endswith("\n") and err.count("\n") == 1
    assert "Traceback" not in err and "unexpected" not in err.replace("unexpected argument", "")
    return err.removeprefix("gaus-lab: error: ")


A, C, R = ("solve g.json --formulation " + letter for letter in "ACR")

USAGE = {
    "": "the following arguments are required: COMMAND",
    "slove g.json": "there is no command 'slove'; did you mean solve?",
    "xyz": "there is no command 'xyz'; known: info, solve, min-ii, verify, compare, ablate, data, lab",
    "--versoin": "COMMAND",
    "info": "required: GRAPH",
    "info g.json g.json": "unexpected argument 'g.json'; options begin with --",
    "info g.json --seconds 3": "unexpected argument '--seconds'",
    "solve": "required: GRAPH",
    "solve g.json": "--formulation is missing; choose one of A, B, C, R",
    "solve g.json --fromulation A": "unexpected argument '--fromulation'; did you mean --formulation?",
    "solve g.json --formulation": "argument --formulation: expected one argument",
    "solve g.json --formulation D": "there is no formulation 'D'; known: A, B, C, R",
    "solve g.json --formulation a": "there is no formulation 'a'",
    "solve g.json --form A": "unexpected argument '--form'",
    f"{A} --solver lst": "there is no solver 'lst'; did you mean list?",
    f"{A} --solver milp5000": "there is no solver 'milp5000'",
    f"{A} --device gpu": "there is no device 'gpu'; did you mean cpu?",
    f"{A} --solver list --device cuda": "solver list computes on the CPU only",
    f"{C} --solver list": "solver list does not support formulation C; those that do: gaus, gaus-plain, asap, alap",
    f"{R} --solver force": "solver force does not support formulation R",
    f"{A} --horizon 1.5": "argument --horizon: the value must be an integer >= 0, got '1.5'",
    f"{A} --horizon -1": "argument --horizon: the value must be >= 0, got -1",
    f"{A} --horizon ten": "argument --horizon: the value must be an integer >= 0, got 'ten'",
    f"{A} --horizon {'9' * 5000}": "argument --horizon: the value must be an integer >= 0, got '999",
    f"{A} --horizon {2**43}": "argument --horizon: the value must be <= 2**42",
    f"{A} --horizon 3 --stretch 2": "argument --stretch: not allowed with argument --horizon",
    f"{A} --stretch 0.9": "argument --stretch: the value must be a decimal number >= 1, such as 1.5, got 0.9",
    f"{A} --stretch nan": "must be a decimal number >= 1, such as 1.5, got 'nan'",
    f"{A} --stretch 1e9": "must be a decimal number >= 1, such as 1.5, got '1e9'",
    f"{A} --stretch 3/2": "must be a decimal number >= 1, such as 1.5, got '3/2'",
    f"{A} --stretch 1,5": "must be a decimal number >= 1, such as 1.5, got '1,5'",
    f"{A} --stretch 9999999999999": "horizon must be <= 2**42",
    f"{A} --latency -1": "argument --latency: the value must be >= 0, got -1",
    f"{A} --latency x": "argument --latency: the value must be an integer >= 0, got 'x'",
    f"{C} --ii 0": "argument --ii: the value must be >= 1, got 0",
    f"{A} --ii 2": "--ii is for formulation C",
    f"{R} --limit op": "argument --limit: the value must be TYPE=N, such as MUL=2, got 'op'",
    f"{R} --limit =2": "argument --limit: the value must be TYPE=N, such as MUL=2, got '=2'",
    f"{R} --limit op=": "argument --limit: the value must be an integer >= 0, got ''",
    f"{R} --limit op=two": "argument --limit: the value must be an integer >= 0, got 'two'",
    f"{R} --limit op=-1": "argument --limit: the value must be >= 0, got -1",
    f"{R} --limit op=0": "limit of op must be >= 1, got 0",
    f"{R} --limit op=1 --limit op=2": "--limit 'op' is given twice",
    f"{A} --weights even": "there is no kind of weights 'even'; known: balanced",
    f"{A} --weights balanced --resource-weight 2": "--weights balanced sets both weights; leave --resource-weight out",
    f"{A} --weights balanced --communication-weight 2": "leave --communication-weight out",
    f"{A} --resource-weight -1": "argument --resource-weight: the value must be >= 0, got -1",
    f"{A} --resource-weight 0.5": "argument --resource-weight: the value must be an integer >= 0",
    f"{A} --communication-weight x": "argument --communication-weight: the value must be an integer",
    f"{R} --weights balanced": "--weights is for formulation A; formulation R has no weights",
    f"{C} --resource-weight 1": "--resource-weight is for formulation A; formulation C has no weights",
    f"{R} --communication-weight 1": "--communication-weight is for formulation A",
    f"{A} --seconds -1": "argument --seconds: the value must be a number of seconds >= 0, got '-1'",
    f"{A} --seconds nan": "argument --seconds: the value must be a number of seconds >= 0, got 'nan'",
    f"{A} --seconds inf": "argument --seconds: the value must be a number of seconds >= 0, got 'inf'",
    f"{A} --seconds soon": "argument --seconds: the value must be a number of seconds >= 0, got 'soon'",
    f"{A} --seed -1": "argument --seed: the value must be >= 0, got -1",
    f"{A} --seed 1.5": "argument --seed: the value must be an integer >= 0, got '1.5'",
    f"{A} -o": "argument -o: expected one argument",
    f"{A} -o none/r.json": "none/r.json: cannot write the file: there is no folder",
    f"{A} -o folder": "folder: cannot write the file: it is a folder",
    f"{A} -o new/": "new/: cannot write the file: it is a folder",
    f"{A} -o g.json/r": "g.json/r: cannot write the file: there is no folder",
    f"{A} -o g.json": "g.json: cannot write the file: it is the input",
    f"{A} -o folder/../g.json": "folder/../g.json: cannot write the file: it is the input",
    "solve none.json --formulation A": "there is no file 'none.json', and no graph is named 'none.json'",
    "solve hall --formulation A": "did you mean 'hal'?",
    "solve folder --formulation A": "there is no file 'folder'",
    "solve half.json --formulation A": "weight has values with a fractional part",
    "solve r.json --formulation A": "r.json: format must be 'gaus-lab/graph', got 'gaus-lab/result'",
    "verify g.json": "required: RESULT",
    "verify g.json none.json": "none.json: cannot read the result file: No such file or directory",
    "verify g.json folder": "folder: cannot read the result file: Is a directory",
    "verify g.json g.json": "g.json: not a result file: format must be 'gaus-lab/result', got None",
    "verify none.json r.json": "there is no file 'none.json'",
    "verify hal r.json": "r.json: the schedule has an unknown operation 'a'",
    "compare --formulation A --solvers asap": "required: GRAPH",
    "compare g.json --formulation A": "the following arguments are required: --solvers",
    "compare g.json --solvers asap": "--formulation is missing",
    "compare g.json --formulation A --solvers asap,lst": "there is no solver 'lst'; did you mean list?",
    "compare g.json --formulation A --solvers asap,": "there is no solver ''",
    "compare g.json --formulation A --solvers asap,asap": "solver asap is there twice",
    "compare g.json --formulation R --solvers asap,force": "solver force does not support formulation R",
    "compare g.json --formulation A --solvers asap --seeds 0": "argument --seeds: the value must be >= 1, got 0",
    "compare g.json --formulation A --solvers asap --jobs 0": "argument --jobs: the value must be >= 1, got 0",
    "compare g.json --formulation A --solvers asap -o none/r.csv": "none/r.csv: cannot write the file",
    "compare g.json --formulation A --solvers asap -o g.json": "g.json: cannot write the file: it is the input",
    "compare eplf/* --formulation A --solvers asap": "no graph's name matches 'eplf/*'",
    "compare g.json none.json --formulation A --solvers asap": "there is no file 'none.json'",
    "compare half.json --formulation A --solvers asap": "weight has values with a fractional part",
    "data": "required: list|fetch|path",
    "data lits": "there is no action 'lits'; did you mean list?",
    "data list hal": "data list takes no name, got 'hal'",
    "data path --kind rw": "--kind is for data list",
    "data list --kind bundeld": "there is no kind 'bundeld'; did you mean bundled?",
    "data fetch": "data fetch needs the name of a graph",
    "data fetch hall": "no graph is named 'hall'; did you mean 'hal'?",
    "data fetch fir": "graph 'fir' is generated and has no file",
    "lab extra": "unexpected argument 'extra'",
}


@pytest.mark.parametrize("line", USAGE, ids=lambda line: line[:60] or "nothing")
def test_command_line_is_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert USAGE[line] in refused(line.split(), capsys)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "g: "),
        (b"hello", "g: neither the suffix nor the content tells the format"),
        (b"{", "g:1: not JSON"),
        (b"[]", "g: "),
        (b'{"ops": 3}', "g: ops must be a list"),
        (b'{"ops": [{"name": "a"}, {"name": "a"}]}', "'a' is declared twice"),
        (b'{"ops": [{"name": "a", "latency": -1}]}', "latency must be >= 0, got -1"),
        (b'{"ops": ["a"], "edges": [{"src": "a", "dst": "b"}]}', "there is no operation 'b'"),
        (b'{"ops": ["a"], "edges": [{"src": "a", "dst": "a"}]}', "whose distances sum to 0: a -> a"),
        (b"\xff\xfe\x00", "g: "),
        (b"\x1f\x8b\x08", "g: "),
        (b"aig 3 1", "g:1: "),
    ],
)
@pytest.mark.parametrize("command", ["info g", "solve g --formulation R --solver asap", "verify g r.json"])
def test_bad_graph_file_is_refused(
    command: str, content: bytes, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "folder" / "g").write_bytes(content)
    os.chdir("folder")
    Path("r.json").write_text(json.dumps(RESULT))
    assert message in refused(command.split(), capsys)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", "gaus-lab/graph", "format must be 'gaus-lab/result', got 'gaus-lab/graph'"),
        ("version", 99, "version must be 1, got 99"),
        ("problem", None, "problem must be an object, it is missing"),
        ("problem", {"formulation": "E"}, "problem.formulation must be one of A, B, C, R, got 'E'"),
        ("problem", {"formulation": "A", "horizon": "3"}, "problem.horizon must be an integer >= 0, got '3'"),
        ("problem", {"formulation": "A", "ii": 3}, "problem.ii must be null, got 3"),
        ("problem", {"formulation": "R", "limits": [1]}, "problem.limits must be an object, got [1]"),
        ("problem", {"formulation": "A", "latency": 0.5}, "problem.latency must be an integer >= 0, got 0.5"),
        ("start", [0, 1], "start must be an object or null, got [0, 1]"),
        ("start", {"a": 0}, "no start for operation 'b'"),
        ("start", {"a": 0, "b": "1"}, "start of b must be an integer, got '1'"),
        ("start", {"a": 0, "b": None}, "start of b must be an integer"),
        ("start", {"a": 0, "b": 1.5}, "start of b must be an integer"),
        ("objective", "3", "objective must be an integer or null, got '3'"),
        ("graph", 3, "graph must be an object, got 3"),
        ("ii", 3, "ii is 3, problem.ii is None"),
    ],
)
def test_bad_result_file_is_refused(
    key: str, value: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("r.json").write_text(json.dumps(RESULT | {key: value}))
    found = refused(["verify", "g.json", "r.json"], capsys)
    assert found.startswith("r.json: ") and message in found


@pytest.mark.parametrize("text", ["", "{", "[1, 2", "nonsense", '{"a": NaN}', "[" * 100_000, "9" * 5000])
def test_damaged_result_file_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("r.json").write_text(text)
    assert refused(["verify", "g.json", "r.json"], capsys).startswith("r.json:")


@pytest.mark.parametrize("name", ["", "a\nb", "a\0b", "x" * 5000, "\udcff", "-", "../..", "epfl/../secret"])
def test_odd_names_are_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    refused(["info", name], capsys)
    refused(["verify", name, "r.json"], capsys)
    refused(["verify", "g.json", name], capsys)
    refused(["data", "fetch", name], capsys)


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000])
def test_odd_output_names_are_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["solve", "g.json", "--formulation", "R", "--solver", "asap", "-o", name]
    assert "cannot write the file" in refused(words, capsys)


def test_message_with_a_line_break_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no file 'a\\nb'" in refused(["info", "a\nb"], capsys)
    assert "a\\nb/c: cannot write" in refused([*f"{A} -o".split(), "a\nb/c"], capsys)


def test_output_is_looked_at_before_the_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solving, "load_or_read", lambda name: pytest.fail("the graph was read"))
    assert "there is no folder" in refused(f"{A} -o none/r.json".split(), capsys)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "folder").chmod(0o500)
    assert "no permission in folder" in refused(f"{A} -o folder/r.json".split(), capsys)
    (folder / "folder").chmod(0o700)


def test_permissions_are_looked_at(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "no permission in folder" in refused(f"{A} -o folder/r.json".split(), capsys)
    assert "no permission; choose another place" in refused(f"{A} -o r.json".split(), capsys)


def test_network_that_is_not_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pooch = pytest.importorskip("pooch")

    def offline(url: str, output_file: str, _: object) -> None:
        raise ConnectionError("no route to host")

    monkeypatch.setattr(pooch, "HTTPDownloader", lambda **settings: offline)
    for line in ("info epfl/ctrl", "data fetch rw/RW_1"):
        message = refused(line.split(), capsys)
        assert "GAUS_LAB_DATA" in message and "no route to host" in message


def test_memory_that_runs_out(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def hungry(name: str) -> None:
        raise MemoryError

    monkeypatch.setattr(solving, "load_or_read", hungry)
    assert "out of memory" in refused(A.split(), capsys)


def test_bug_asks_for_a_report(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def buggy(name: str) -> None:
        raise KeyError("a\nb")

    monkeypatch.setattr(solving, "load_or_read", buggy)
    assert cli.main(A.split()) == 2
    err = capsys.readouterr().err
    assert err.startswith("gaus-lab: error: unexpected KeyError: ") and err.count("\n") == 1
    assert "please report it" in err
    monkeypatch.setenv("GAUS_LAB_DEBUG", "1")
    assert cli.main(A.split()) == 2
    assert "Traceback" in capsys.readouterr().err
