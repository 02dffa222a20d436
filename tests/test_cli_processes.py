"""The command line in processes of its own: interrupts, kills, streams that break, what is loaded."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_cli import table

from gaus_lab import cli

pytestmark = pytest.mark.fast

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a command line, with the solvers of `patient_command`, in a process that ends with the test."""
    script = Path(__file__).with_name("patient_command.py")
    paths = {"PYTHONPATH": str(Path(cli.__file__).parents[2])}
    with contextlib.ExitStack() as stack:

        def run(line: str, *words: object, **settings: Any) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, str(script), *line.split(), *map(str, words)],
                **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | settings,
                env=os.environ | paths,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield run


def wait_for(process: subprocess.Popen[str], line: str) -> None:
    assert process.stderr is not None
    assert process.stderr.readline() == f"{line}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_writes_and_prints_the_best_so_far(
    number: signal.Signals, start: Start, tmp_path: Path
) -> None:
    out = tmp_path / "r.json"
    process = start("solve hal --formulation A --solver slow --seconds 60 -o", out)
    wait_for(process, "searching")
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=20)
    assert (process.returncode, stderr) == (0, "")
    assert table(stdout)["objective"] == "5"
    assert json.loads(out.read_text())["objective"] == 5
    assert cli.main(["verify", "hal", str(out)]) == 0


def test_interrupt_before_any_schedule(start: Start, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    process = start("solve hal --formulation A --solver barren -o", out)
    wait_for(process, "searching")
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 1
    assert stderr == "gaus-lab: error: no schedule: interrupted before the first schedule was found\n"
    assert json.loads(out.read_text())["start"] is None


def test_interrupt_while_the_file_is_written_changes_nothing(start: Start, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    process = start("--slow-write solve hal --formulation R --solver asap -o", out)
    wait_for(process, "writing")
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert (process.returncode, stderr) == (0, "")
    assert json.loads(out.read_text())["objective"] == 6


def test_second_interrupt_leaves_no_file(start: Start, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    process = start("--slow-write solve hal --formulation R --solver slow --seconds 60 -o", out)
    wait_for(process, "searching")
    process.send_signal(signal.SIGINT)
    wait_for(process, "writing")
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert (process.returncode, stderr) == (130, "gaus-lab: error: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", ["searching", "writing"])
def test_kill_leaves_the_old_file(moment: str, start: Start, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    out.write_text("old")
    solver, seconds = ("slow", "60") if moment == "searching" else ("asap", "1")
    process = start(f"--slow-write solve hal --formulation R --solver {solver} --seconds {seconds} -o", out)
    wait_for(process, moment)
    process.kill()
    process.communicate(timeout=20)
    assert process.returncode == -signal.SIGKILL
    assert out.read_text() == "old"


def test_interrupted_comparison_keeps_its_rows(start: Start, tmp_path: Path) -> None:
    out = tmp_path / "r.csv"
    process = start("compare hal --formulation A --solvers asap,slow --seconds 60 -o", out)
    wait_for(process, "searching")  # in the second run
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr == "gaus-lab: error: interrupted after 1 of 2 runs\n"
    assert [row["solver"] for row in csv.DictReader(out.read_text().splitlines())] == ["asap"]
    assert len(stdout.splitlines()) == 3


def test_reader_that_goes_away_is_no_error(start: Start) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = start("data list", stdout=writing)
    os.close(writing)
    _, stderr = process.communicate(timeout=20)
    assert (process.returncode, stderr) == (0, "")


def test_full_disk_is_one_line(start: Start) -> None:
    with open("/dev/full", "w") as full:
        process = start("info hal", stdout=full)
        _, stderr = process.communicate(timeout=20)
    message = "gaus-lab: error: standard output cannot be written: No space left on device\n"
    assert (process.returncode, stderr) == (2, message)


def test_file_that_outgrows_the_disk_is_not_left_behind(start: Start, tmp_path: Path) -> None:
    import resource

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    out = tmp_path / "r.json"
    process = start("solve hal --formulation R --solver asap -o", out, preexec_fn=small_files)
    stdout, stderr = process.communicate(timeout=20)
    assert process.returncode == 2
    assert stderr.startswith(f"gaus-lab: error: {out}: cannot write the file: File too large")
    assert table(stdout)["objective"] == "6"  # the schedule is not lost without a word
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", ["info hal", "verify hal {}", "data list", "solve hal --help"])
def test_quick_commands_load_nothing_heavy(line: str, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    assert cli.main(["solve", "hal", *["--formulation", "R", "--solver", "asap", "-o"], str(out)]) == 0
    code = (
        "import sys; from gaus_lab.cli import main; assert main(sys.argv[1:]) == 0; "
        "sys.exit(' '.join(m for m in ('torch', 'numba', 'networkx') if m in sys.modules))"
    )
    words = line.format(out).split()
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert run.stderr.strip() == ""


def test_module_can_be_run() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "gaus_lab.cli", "info", "nothing"], capture_output=True, text=True
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("gaus-lab: error: there is no file 'nothing'")


def test_names_outside_the_encoding_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text('{"name": "\\u00e9\\ud83d\\ude00", "ops": [{"name": "a", "type": "\\u4e2d"}]}')
    run = subprocess.run(
        [sys.executable, "-m", "gaus_lab.cli", "info", str(path)],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert (run.returncode, run.stderr) == (0, b"")
    assert b"\\xe9\\U0001f600" in run.stdout and b"\\u4e2d" in run.stdout
