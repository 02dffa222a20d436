"""`Record`, one run as a flat row, and `Records`, all of a comparison with its tables."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any

from gaus_lab.files.atomic import write_atomically
from gaus_lab.html import html_table, text_table
from gaus_lab.problem import Problem
from gaus_lab.result import Result, Status
from gaus_lab.views.info.quality import Curve, curves


@dataclass(frozen=True)
class Record:
    """One run of a solver on a problem, flat, as a row of a table.

    Attributes
    ----------
    graph, ops, edges, formulation, horizon, ii, weights
        The problem. `weights` is ``MUL=2 ALU=1 communication=3`` for formulation A, else empty.
    solver, seed, device
        The run.
    status : str
        As of `Result`; or ``failed`` (the solver raised or its process died), ``timeout`` (killed long after the
        time it was given), ``out of memory``.
    objective, peak_usage, communication, footprint, makespan
        Exact values of the best schedule; None, and empty for `peak_usage`, without one.
    bound : int or None
        Proven lower bound.
    gap : float or None
        ``(objective - bound) / objective``, rounded to 6 digits.
    seconds : float or None
        Wall-clock time of the solver.
    peak_memory_mb : float or None
        Most resident memory of the run's own process, in 10**6 bytes; None where the process was shared.
    steps : int or None
    reason : str
        Why there is no schedule, one line.
    settings : tuple of (name, value)
        The solver's settings; they tell two rows of one solver apart.
    history : tuple of (seconds, objective)
        Each improvement of the run, seconds since its begin.
    """

    graph: str
    ops: int
    edges: int
    formulation: str
    horizon: int | None
    ii: int | None
    weights: str
    solver: str
    seed: int
    device: str = ""
    status: str = "failed"
    objective: int | None = None
    peak_usage: str = ""
    communication: int | None = None
    footprint: int | None = None
    makespan: int | None = None
    bound: int | None = None
    gap: float | None = None
    seconds: float | None = None
    peak_memory_mb: float | None = None
    steps: int | None = None
    reason: str = ""
    settings: tuple[tuple[str, Any], ...] = ()
    history: tuple[tuple[float, int], ...] = ()

    @classmethod
    def failed(
        cls,
        problem: Problem,
        solver: str,
        seed: int,
        status: str,
        reason: str,
        settings: Mapping[str, Any] | None = None,
    ) -> Record:
        """Return the row of a run that gave no result."""
        terms = problem.to_dict()
        weights = dict(terms["resource_weights"] or {})
        if terms["communication_weight"] is not None:
            weights["communication"] = terms["communication_weight"]
        return cls(
            graph=problem.graph.name,
            ops=problem.graph.n_ops,
            edges=problem.graph.n_edges,
            formulation=problem.formulation,
            horizon=problem.horizon,
            ii=problem.interval,
            weights=_pairs(weights),
            solver=solver,
            seed=seed,
            status=status,
            reason=" ".join(reason.split()),
            settings=tuple((settings or {}).items()),
        )

    @classmethod
    def of(cls, result: Result, peak_memory_mb: float | None = None) -> Record:
        """Return the row of a result."""
        empty = cls.failed(
            result.problem, result.solver, result.seed, str(result.status), result.reason, result.settings
        )
        terms = dict(result.terms)
        return replace(
            empty,
            device=result.device,
            objective=result.objective,
            peak_usage=_pairs(terms.get("peak_usage", {})),
            communication=terms.get("communication"),
            footprint=terms.get("footprint"),
            makespan=terms.get("makespan"),
            seconds=round(result.seconds, 3),
            peak_memory_mb=peak_memory_mb,
            steps=result.steps,
            history=tuple((round(seconds, 6), objective) for seconds, objective in result.history),
        ).bounded(result.bound)

    def bounded(self, bound: int | None) -> Record:
        """Return the row with a proven bound, its gap, and status ``optimal`` where the objective meets it."""
        known = [value for value in (self.bound, bound) if value is not None]
        if not known or self.status == Status.INFEASIBLE:
            return self
        best = max(known)
        if self.objective is None:
            return replace(self, bound=best)
        gap = round((self.objective - best) / self.objective, 6) if self.objective else 0.0
        status = str(Status.OPTIMAL) if self.objective <= best else self.status
        return replace(self, bound=best, gap=gap, status=status)


#: Columns of the tables on the screen; the file has all. Those that differ from run to run stand last.
_COLUMNS = ("graph", "formulation", "horizon", "solver", "seed", "status", "objective", "bound", "gap")
_TIMES = ("seconds", "peak_memory_mb", "steps")
_RIGHT = {"horizon", "seed", "objective", "bound", "gap", *_TIMES}


@dataclass(frozen=True, repr=False)
class Records:
    """The rows of a comparison, in the order of problems, solvers, seeds.

    Attributes
    ----------
    rows : tuple of Record
    """

    rows: tuple[Record, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.rows)

    def table(self, times: bool = False) -> str:
        """Return a text table; with `times` also seconds, memory and steps, which differ from run to run."""
        header = (*_COLUMNS, *_TIMES) if times else _COLUMNS
        right = [k for k, column in enumerate(header) if column in _RIGHT]
        return text_table(self._cells(header), [column.replace("_", " ") for column in header], right)

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return html_table(self._cells(_COLUMNS), _COLUMNS)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write all columns of all rows as CSV; under its final name the file is complete or absent.

        Settings stand there as a JSON object, the history as a JSON list.

        Raises
        ------
        GausLabError
            The file cannot be written: no such folder, no permission, a full disk.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        columns = [field.name for field in fields(Record)]
        writer.writerow(columns)
        writer.writerows([_cell(row, column) for column in columns] for row in self.rows)
        # As for the screen: a name may hold what no encoding can express.
        write_atomically(path, text.getvalue().encode("utf-8", "backslashreplace"))

    def markdown(self) -> str:
        """Return a Markdown table with a row a problem and a column a solver.

        A cell is the median objective over the seeds, or the status where a run found no schedule. Behind the bound
        come the medians of seconds and of memory of the solver named last, the one that the others are compared with.
        """
        solvers = list(dict.fromkeys(row.solver for row in self.rows))
        last = solvers[-1] if solvers else ""
        header = ["graph", "operations", "horizon", *solvers, "bound", f"{last} s", f"{last} MB"]
        lines = [header, ["---", *["---:"] * (len(header) - 1)]]
        for group in self._groups().values():
            of_last = group.get(last, [])
            first = next(iter(group.values()))[0]
            bounds = [row.bound for rows in group.values() for row in rows if row.bound is not None]
            lines.append(
                [
                    first.graph.replace("|", "\\|"),
                    str(first.ops),
                    "" if first.horizon is None else str(first.horizon),
                    *(_median_objective(group.get(solver, [])) for solver in solvers),
                    str(max(bounds)) if bounds else "",
                    _median((row.seconds for row in of_last), 1),
                    _median((row.peak_memory_mb for row in of_last), 0),
                ]
            )
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def curves(self) -> tuple[Curve, ...]:
        """Return the best objective over time of every run, as step curves; see `gaus_lab.views.info.curves`."""
        return curves(self.rows)

    def _groups(self) -> dict[tuple[object, ...], dict[str, list[Record]]]:
        """Return the rows by problem, then by solver, in order of appearance."""
        groups: dict[tuple[object, ...], dict[str, list[Record]]] = {}
        for row in self.rows:
            key = (row.graph, row.ops, row.edges, row.formulation, row.horizon, row.ii, row.weights)
            groups.setdefault(key, {}).setdefault(row.solver, []).append(row)
        return groups

    def _cells(self, columns: Iterable[str]) -> list[list[str]]:
        return [[_shown(row, column) for column in columns] for row in self.rows]


def _cell(row: Record, column: str) -> object:
    """Return what a CSV file has of a row in a column."""
    value = getattr(row, column)
    if column == "settings":
        return json.dumps(dict(value), default=repr)
    return json.dumps(value) if column == "history" else value


def _shown(row: Record, column: str) -> str:
    value = getattr(row, column)
    if value is None:
        return "-"
    if column == "gap":
        return f"{100 * value:.1f} %"
    if column == "status" and row.objective is None and row.reason:
        return f"{value}: {row.reason if len(row.reason) <= 60 else row.reason[:57] + '...'}"
    return str(value)


def _pairs(values: Mapping[str, object]) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items())


def _median_objective(rows: list[Record]) -> str:
    """Return the median of the objectives, itself one of them; the status of a run without any."""
    without = next((row.status for row in rows if row.objective is None), None)
    if without is not None or not rows:
        return without or ""
    return str(statistics.median_low(row.objective for row in rows if row.objective is not None))


def _median(values: Iterable[float | None], digits: int) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.{digits}f}" if known else ""
