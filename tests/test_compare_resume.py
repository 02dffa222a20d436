"""Comparisons that go on from a file, and run on any executor."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gaus_lab.analysis import asap
from gaus_lab.compare import RecordFile, Records, compare
from gaus_lab.errors import GausLabError, SolverError
from gaus_lab.graph import Graph
from gaus_lab.problem import LatencyProblem, Problem, ResourceProblem
from gaus_lab.run import MaxSeconds, MaxSteps, Run
from gaus_lab.solvers.extremes import Alap, Asap
from gaus_lab.solvers.list_scheduling import ListScheduling

pytestmark = pytest.mark.fast

RUNS: list[tuple[str, int]] = []


@dataclass(frozen=True)
class Counting:
    """Offers ASAP, and remembers that it ran; stops the comparison at a seed."""

    setting: int = 0
    stop_at: int | None = None

    name: ClassVar[str] = "counting"
    formulations: ClassVar[frozenset[str]] = frozenset("AR")

    def run(self, problem: Problem, run: Run) -> None:
        RUNS.append((problem.graph.name, run.seed))
        if run.seed == self.stop_at:
            raise KeyboardInterrupt
        run.offer(asap(problem.graph))


@pytest.fixture
def problems() -> list[Problem]:
    RUNS.clear()
    graph = Graph.build(["a", "b", "c"], [("a", "c"), ("b", "c")], name="small")
    return [ResourceProblem(graph, horizon=3), ResourceProblem(Graph.build("xy", name="other"), horizon=2)]


def without_times(records: Records) -> list[str]:
    return [repr(row) for row in records.table().splitlines()]


def known(path: Path) -> int:
    with RecordFile.open(path) as store:
        return len(store.known)


# ---- the file -------------------------------------------------------------------------------------------------


def test_finished_runs_are_not_repeated(problems: list[Problem], tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    first = compare(problems[:1], [Counting()], range(2), resume=path)
    assert RUNS == [("small", 0), ("small", 1)]
    both = compare(problems, [Counting()], range(3), resume=path)
    assert RUNS[2:] == [("small", 2), ("other", 0), ("other", 1), ("other", 2)]
    assert both.rows[:2] == first.rows
    again = compare(problems, [Counting()], range(3), resume=path)
    assert (again.rows, len(RUNS)) == (both.rows, 6)


def test_another_run_is_not_taken_for_a_known_one(problems: list[Problem], tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    [problem, _] = problems
    changes: list[Callable[[], Any]] = [
        lambda: compare([problem], [Counting()], resume=path),
        lambda: compare([problem], [Counting(setting=1)], resume=path),
        lambda: compare([problem], [Counting()], stop=MaxSteps(5), resume=path),
        lambda: compare([problem], [Counting()], stop=MaxSeconds(5), resume=path),
        lambda: compare([problem.replace(horizon=4)], [Counting()], resume=path),
        lambda: compare([problem.replace(limits={"op": 3})], [Counting()], resume=path),
        lambda: compare([LatencyProblem(problem.graph, limits={"op": 3})], [Counting()], resume=path),
        lambda: compare([problem.replace(graph=problem.graph.replace(bits=2))], [Counting()], resume=path),
    ]
    for count, change in enumerate(changes, start=1):
        change()
        change()
        assert len(RUNS) == count
    # The name of a graph is no part of what is solved.
    compare([problem.replace(graph=problem.graph.replace(name="renamed"))], [Counting()], resume=path)
    assert len(RUNS) == len(changes)


def test_interrupted_run_is_made_again(problems: list[Problem], tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    part = compare(problems[:1], [Counting(stop_at=1)], range(3), resume=path)
    assert known(path) == 1 < len(part)
    RUNS.clear()
    compare(problems[:1], [Counting(stop_at=1)], range(3), resume=path)
    assert RUNS == [("small", 1)]


@pytest.mark.parametrize("rest", [0, 1, 20, 60, -1])
def test_line_that_a_crash_cut_off_is_dropped(problems: list[Problem], tmp_path: Path, rest: int) -> None:
    path = tmp_path / "runs.jsonl"
    whole = compare(problems, [Counting()], resume=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:rest])
    again = compare(problems, [Counting()], resume=path)
    assert without_times(again) == without_times(whole)
    assert len(RUNS) == (2 if rest == -1 else 3)
    assert [json.loads(line)["format"] for line in path.read_text().splitlines()] == ["gaus-lab/record"] * 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"my notes\n", "runs.jsonl:1: not a file of records: a line must be a JSON object"),
        (b"my notes", "runs.jsonl:1: not a file of records"),
        (b'{"format": "other"}\n', "format must be 'gaus-lab/record', got 'other'"),
        (b'{"format": "gaus-lab/record", "version": 2}\n', "version must be 1, got 2"),
        (b'{"format": "gaus-lab/record", "version": 1, "key": 3}\n', "key must be an object, got 3"),
        (
            b'{"format": "gaus-lab/record", "version": 1, "key": {}, "record": {}}\n',
            "record.graph is missing",
        ),
        (b"[" * 100_000 + b"\n", "a line must be a JSON object"),
        (b"\xff\xfe\n", "no UTF-8 text"),
    ],
)
def test_foreign_file_is_refused_and_left_alone(
    problems: list[Problem], tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(content)
    with pytest.raises(GausLabError) as error:
        compare(problems, [Counting()], resume=path)
    assert said in str(error.value) and "nothing was changed" in str(error.value)
    assert path.read_bytes() == content
    assert RUNS == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ops", "3"),
        ("objective", 1.5),
        ("gap", True),
        ("settings", []),
        ("history", [[1]]),
        ("history", [["a", 1]]),
    ],
)
def test_record_with_a_value_of_another_kind_is_refused(
    problems: list[Problem], tmp_path: Path, field: str, value: object
) -> None:
    path = tmp_path / "runs.jsonl"
    compare(problems, [Counting()], resume=path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["record"][field] = value
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(GausLabError, match=rf"runs\.jsonl:1: not a file of records: record\.{field} must be"):
        compare(problems, [Counting()], resume=path)


def test_file_that_cannot_be_read_or_written(problems: list[Problem], tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "runs.jsonl", "nul\0"):
        with pytest.raises(GausLabError, match=r"cannot (read|write) the records"):
            compare(problems, [Counting()], resume=path)


def test_history_and_settings_come_back(problems: list[Problem], tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    rows = compare(problems, [ListScheduling()], resume=path).rows
    assert compare(problems, [ListScheduling()], resume=path).rows == rows
    assert rows[0].history and isinstance(rows[0].history[0], tuple)


def test_csv_and_progress_follow_the_runs(problems: list[Problem], tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = tmp_path / "rows.csv"
    compare(problems, [Asap(), Alap()], path=path, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert len(path.read_text().splitlines()) == 5


# ---- executors ------------------------------------------------------------------------------------------------


def test_pool_of_processes(problems: list[Problem], tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    alone = compare(problems, [Asap(), Alap()], range(2))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        together = compare(problems, [Asap(), Alap()], range(2), executor=executor, resume=path)
    assert without_times(together) == without_times(alone)
    assert known(path) == 8


class Broken:
    """An executor whose workers are lost after the first call."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        self.calls += 1
        if self.calls > 3:
            raise BrokenExecutor("the workers are gone")
        future: Future[Any] = Future()
        future.set_result(function(*args))
        return future


def test_lost_workers_cost_their_runs_only(problems: list[Problem], tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    records = compare(problems, [Asap(), Alap()], executor=Broken(), resume=path)
    assert [row.status for row in records] == ["feasible", "failed", "failed", "failed"]
    assert "the workers are gone" in records.rows[1].reason
    # What was lost is no result, and is made again.
    assert known(path) == 1
    assert all(row.objective for row in compare(problems, [Asap(), Alap()], resume=path))


def test_what_is_no_executor(problems: list[Problem]) -> None:
    with pytest.raises(SolverError, match="executor must have a method submit"):
        compare(problems, [Asap()], executor=4)  # type: ignore[arg-type]


def test_local_cluster_of_dask(problems: list[Problem], tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cluster's own packages, such as a port in use
        distributed = pytest.importorskip("distributed")
        cluster = distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address=":0",
            local_directory=tmp_path,
        )
        with cluster, distributed.Client(cluster) as client:
            records = compare(
                problems, [Asap(), Alap()], executor=client.get_executor(), resume=tmp_path / "runs.jsonl"
            )
    assert without_times(records) == without_times(compare(problems, [Asap(), Alap()]))
    assert known(tmp_path / "runs.jsonl") == 4
