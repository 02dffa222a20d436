"""Comparisons: every run is a row, whatever becomes of it."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from gaus_lab.analysis import asap
from gaus_lab.compare import FreshProcesses, Record, Records, compare
from gaus_lab.compare.processes import ProcessFailure, own_peak_memory
from gaus_lab.errors import GausLabError, ProblemError, SolverError
from gaus_lab.graph import Graph
from gaus_lab.problem import LatencyProblem, Problem, ResourceProblem
from gaus_lab.run import MaxSteps, Run
from gaus_lab.solvers.extremes import Alap, Asap

pytestmark = pytest.mark.fast


@dataclass(frozen=True)
class Trouble:
    """Offers ASAP first if it `offers`, and then does what its kind says."""

    kind: str = "raise"
    offers: bool = False

    name: ClassVar[str] = "trouble"
    formulations: ClassVar[frozenset[str]] = frozenset("A")

    def run(self, problem: Problem, run: Run) -> None:
        if self.offers:
            run.offer(asap(problem.graph))
        run.step(3)
        if self.kind == "raise":
            raise RuntimeError("two\nlines")
        if self.kind == "memory":
            raise MemoryError
        if self.kind == "interrupt":
            raise KeyboardInterrupt
        if self.kind == "hang":
            time.sleep(60)
        if self.kind == "exit":
            os._exit(3)
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kind == "abort":
            os.kill(os.getpid(), signal.SIGABRT)


@pytest.fixture
def problem() -> ResourceProblem:
    graph = Graph.build(["a", "b", "c"], [("a", "c"), ("b", "c")], name="small")
    return ResourceProblem(graph, horizon=3, communication_weight=2)


@pytest.fixture
def other() -> ResourceProblem:
    return ResourceProblem(Graph.build(["x|y", "z"], name="a|b"), horizon=2)


def statuses(records: Records) -> list[tuple[str, str]]:
    return [(row.solver, row.status) for row in records]


# ---- in this process ------------------------------------------------------------------------------------------


def test_rows_in_the_order_of_problems_solvers_seeds(problem: Problem, other: Problem) -> None:
    records = compare([problem, other], [Asap(), Alap()], range(2))
    found = [(row.graph, row.solver, row.seed) for row in records]
    expected = [(g, s, seed) for g in ("small", "a|b") for s in ("asap", "alap") for seed in (0, 1)]
    assert found == expected


def test_row_has_the_exact_quantities(problem: Problem) -> None:
    [row] = compare([problem], [Asap()])
    assert row.seconds is not None and row.seconds >= 0
    assert row == Record(
        **dict.fromkeys(("horizon", "makespan"), 3) | {"makespan": 2, "ii": None},
        **{"graph": "small", "ops": 3, "edges": 2, "formulation": "A", "solver": "asap", "seed": 0},
        **{"weights": "op=1 communication=2", "device": "cpu", "status": "feasible", "objective": 6},
        **{"peak_usage": "op=2", "communication": 2, "footprint": 2, "bound": 5, "gap": 0.166667},
        **{"seconds": row.seconds, "peak_memory_mb": None, "steps": 0, "reason": ""},
        **{"settings": (), "history": row.history},
    )


def test_bound_is_computed_once_a_problem(
    problem: Problem, other: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, calls = ResourceProblem.bound, []

    def counted(self: ResourceProblem) -> int:
        calls.append(self.graph.name)
        return original(self)

    monkeypatch.setattr(ResourceProblem, "bound", counted)
    records = compare([problem, other], [Asap(), Alap()], range(3))
    assert calls == ["small", "a|b"]
    assert [row.bound for row in records] == [5] * 6 + [1] * 6


def test_objective_that_meets_the_bound_is_optimal() -> None:
    [row] = compare([LatencyProblem(Graph.build(["a", "b"]))], [Asap()])
    assert (row.objective, row.bound, row.gap, row.status) == (1, 1, 0.0, "optimal")


def test_failure_is_a_row_with_a_reason(problem: Problem) -> None:
    tight = problem.replace(horizon=1)
    records = compare([problem, tight], [Trouble(), Trouble("memory"), Asap()])
    assert [(row.horizon, row.status) for row in records] == [
        *[(3, "failed"), (3, "out of memory"), (3, "feasible")],
        *[(1, "infeasible")] * 3,
    ]
    assert records.rows[0].reason == "RuntimeError: two lines"
    assert "horizon is 1 steps" in records.rows[3].reason
    assert all(row.bound is None for row in records.rows[3:])


def test_unsupported_formulation_is_a_row_with_a_reason(problem: Problem) -> None:
    records = compare([LatencyProblem(problem.graph)], [Trouble(), Asap()])
    assert statuses(records) == [("trouble", "failed"), ("asap", "optimal")]
    assert records.rows[0].reason.startswith("solver trouble does not support formulation R")


def test_interrupt_ends_the_comparison_with_what_there_is(problem: Problem) -> None:
    records = compare([problem], [Asap(), Trouble("interrupt", offers=True), Alap()])
    assert statuses(records) == [("asap", "feasible"), ("trouble", "feasible")]


def test_watch_sees_the_records_grow(problem: Problem) -> None:
    seen: list[int] = []
    compare([problem], [Asap(), Alap()], watch=lambda records: seen.append(len(records)))
    assert seen == [1, 2]


def test_bad_arguments(problem: Problem) -> None:
    with pytest.raises(ProblemError, match="problems must be problems"):
        compare([problem.graph], [Asap()])
    with pytest.raises(SolverError, match="solvers must be solvers"):
        compare([problem], [Asap])
    with pytest.raises(SolverError, match="stop must be"):
        compare([problem], [Asap()], stop=3)
    assert len(compare([], [Asap()])) == len(compare([problem], [])) == 0


def test_bad_seed_is_a_row_with_a_reason(problem: Problem) -> None:
    [row] = compare([problem], [Asap()], [-1])
    assert (row.status, row.reason) == ("failed", "seed must be >= 0, got -1")


def test_any_executor(problem: Problem, other: Problem) -> None:
    alone = compare([problem, other], [Asap(), Trouble(), Alap()], range(2), stop=MaxSteps(5))
    with ThreadPoolExecutor(3) as executor:
        together = compare(
            [problem, other], [Asap(), Trouble(), Alap()], range(2), stop=MaxSteps(5), executor=executor
        )
    assert repr(alone) == repr(together)


# ---- tables ---------------------------------------------------------------------------------------------------


def test_text_and_html_have_no_times(problem: Problem) -> None:
    first, second = (compare([problem], [Asap(), Alap()]) for _ in range(2))
    assert repr(first) == repr(second)
    assert first._repr_html_() == second._repr_html_()
    assert repr(first).splitlines() == [
        "graph  formulation  horizon  solver  seed  status    objective  bound     gap",
        "small  A                  3  asap       0  feasible          6      5  16.7 %",
        "small  A                  3  alap       0  feasible          6      5  16.7 %",
    ]
    assert "seconds" in first.table(times=True)


def test_table_shortens_reasons() -> None:
    row = Record("g", 1, 0, "A", 1, None, "", "s", 0, reason="x" * 100)
    assert f"failed: {'x' * 57}...  " in Records((row,)).table()
    assert repr(Records()).split() == [
        *("graph", "formulation", "horizon", "solver", "seed", "status", "objective", "bound", "gap")
    ]


def test_csv_has_all_columns_and_any_text(problem: Problem, other: Problem, tmp_path: Path) -> None:
    records = compare([problem, other], [Asap(), Trouble()])
    path = tmp_path / "r.csv"
    records.to_csv(path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [field.name for field in fields(Record)]
    assert [row["graph"] for row in rows] == ["small", "small", "a|b", "a|b"]
    assert (rows[0]["objective"], rows[0]["peak_memory_mb"]) == ("6", "")
    assert rows[1]["reason"] == "RuntimeError: two lines"
    with pytest.raises(GausLabError, match="cannot write the file"):
        records.to_csv(tmp_path / "none" / "r.csv")


def test_markdown_has_a_row_a_problem() -> None:
    def row(graph: str, solver: str, seed: int, objective: int | None, seconds: float) -> Record:
        status = "feasible" if objective else "timeout"
        numbers = {"objective": objective, "bound": 5, "seconds": seconds, "peak_memory_mb": 100 * seconds}
        return Record(graph, 9, 8, "A", 7, None, "", solver, seed, "cpu", status, **numbers)

    rows = [
        *(row("a|b", "asap", seed, 9, 0.1) for seed in range(3)),
        *(row("a|b", "gaus", seed, 6 + seed, 1.0 + seed) for seed in range(3)),
        row("z", "asap", 0, 8, 0.1),
        row("z", "gaus", 0, None, 4.0),
    ]
    assert Records(tuple(rows)).markdown().splitlines() == [
        "| graph | operations | horizon | asap | gaus | bound | gaus s | gaus MB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| a\\|b | 9 | 7 | 9 | 7 | 5 | 2.0 | 200 |",
        "| z | 9 | 7 | 8 | timeout | 5 | 4.0 | 400 |",
    ]


# ---- processes of their own -----------------------------------------------------------------------------------


def test_crashes_are_rows_too(problem: Problem) -> None:
    kinds = ("raise", "memory", "exit", "kill", "abort")
    with FreshProcesses(2, seconds=60) as executor:
        records = compare([problem], [*(Trouble(kind) for kind in kinds), Asap()], executor=executor)
    assert [(row.status, row.reason.partition(";")[0]) for row in records] == [
        ("failed", "RuntimeError: two lines"),
        ("out of memory", "the solver could not get the memory that it asked for"),
        ("failed", "the process ended with exit status 3"),
        ("out of memory", "killed by the system, as it does with a process when memory runs out"),
        ("failed", "the process died of signal 6"),
        ("feasible", ""),
    ]
    assert all(row.bound == 5 for row in records)
    assert records.rows[-1].peak_memory_mb > 10


def test_hanging_solver_is_killed(problem: Problem) -> None:
    began = time.perf_counter()
    with FreshProcesses(2, seconds=5) as executor:
        records = compare([problem], [Trouble("hang"), Asap()], executor=executor)
    assert statuses(records) == [("trouble", "timeout"), ("asap", "feasible")]
    assert records.rows[0].reason == "killed after 5 s without an answer"
    assert time.perf_counter() - began < 50


def test_memory_is_that_of_the_process_itself() -> None:
    ballast = np.ones(40_000_000)  # 320 MB, which the measure of a child must not contain
    assert own_peak_memory() > 320
    with FreshProcesses() as executor:
        assert executor.submit(own_peak_memory).result() < 200
    assert ballast[-1] == 1


def test_leaving_the_block_kills_what_runs() -> None:
    began = time.perf_counter()
    with FreshProcesses(1) as executor:
        running, waiting = executor.submit(time.sleep, 60), executor.submit(time.sleep, 60)
        time.sleep(0.5)
    assert waiting.cancelled()
    assert isinstance(running.exception(timeout=10), ProcessFailure)
    assert time.perf_counter() - began < 30


def test_jobs_must_be_a_positive_integer() -> None:
    for jobs in (0, -1, 1.5, True, "2"):
        with pytest.raises(SolverError, match="jobs must be an integer >= 1"):
            FreshProcesses(jobs)


def test_compare_is_a_function_however_the_package_was_entered() -> None:
    code = "import gaus_lab.compare, gaus_lab as gl; print(callable(gl.compare))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "True\n"
