"""`Result`: what `solve` returns, its tables, and its file format."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from os import PathLike
from typing import Any

from gaus_lab.errors import GausLabError
from gaus_lab.files.atomic import write_atomically
from gaus_lab.graph import Graph
from gaus_lab.html import html_table, text_table
from gaus_lab.problem import Problem
from gaus_lab.schedule import Schedule

FORMAT = "gaus-lab/result"
VERSION = 1


class Status(StrEnum):
    """What is known about a result.

    ``optimal``: objective equals the proven bound; ``feasible``: a verified schedule; ``infeasible``: proven that
    none exists; ``unknown``: none found.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The outcome of a solver on a problem; its schedule, if there is one, is verified.

    Attributes
    ----------
    problem : Problem
    schedule : Schedule or None
    status : Status
    objective : int or None
        Recomputed from the schedule in integers.
    terms : dict
        ``peak_usage`` by resource, ``communication``, ``footprint``, ``makespan``.
    bound : int or None
        Proven lower bound on the objective of any legal schedule.
    solver : str
    settings : dict
        The solver's settings.
    seed : int
    device : str
    seconds : float
        Wall-clock time of the solver.
    history : tuple of (seconds, objective)
        Each improvement.
    reason : str
        Why there is no schedule; empty where there is one.
    """

    problem: Problem
    schedule: Schedule | None
    status: Status
    objective: int | None
    terms: Mapping[str, Any]
    bound: int | None
    solver: str
    settings: Mapping[str, Any]
    seed: int
    device: str
    seconds: float
    history: tuple[tuple[float, int], ...] = field(default=())
    reason: str = ""

    @property
    def gap(self) -> float | None:
        """``(objective - bound) / objective``: no schedule is better by more than this share; None if unknown."""
        if self.objective is None or self.bound is None:
            return None
        return (self.objective - self.bound) / self.objective if self.objective else 0.0

    def rows(self) -> list[tuple[str, str]]:
        """Return the table that text and HTML show: no times, so equal results look equal."""
        rows = [("status", str(self.status)), ("solver", f"{self.solver}, seed {self.seed}")]
        if self.reason:
            rows.append(("reason", self.reason))
        if self.objective is not None:
            rows.append(("objective", str(self.objective)))
        if self.bound is not None:
            gap = "" if self.gap is None else f" (gap {100 * self.gap:.1f} %)"
            rows.append(("lower bound", f"{self.bound}{gap}"))
        for term, value in self.terms.items():
            shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, Mapping) else value
            rows.append((term.replace("_", " "), str(shown)))
        return rows

    def __repr__(self) -> str:
        return f"{self.problem!r}\n{text_table(self.rows())}"

    def _repr_html_(self) -> str:
        return html_table(self.rows(), caption=repr(self.problem))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as the file format has it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "graph": graph_identity(self.problem.graph),
            "problem": self.problem.to_dict(),
            "solver": self.solver,
            "settings": dict(self.settings),
            "seed": self.seed,
            "device": self.device,
            "status": str(self.status),
            "reason": self.reason,
            "objective": self.objective,
            "terms": dict(self.terms),
            "bound": self.bound,
            "start": None if self.schedule is None else self.schedule.to_dict(),
            "ii": self.problem.interval,
            "seconds": round(self.seconds, 3),
            "history": [[round(seconds, 3), objective] for seconds, objective in self.history],
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write the result file; under its final name it is complete or absent.

        Raises
        ------
        GausLabError
            The file cannot be written: no such folder, no permission, a full disk.
        """
        write_atomically(path, json.dumps(self.to_dict(), indent=1) + "\n")


def graph_identity(graph: Graph) -> dict[str, Any]:
    """Return name, sizes and a SHA-256 over names, properties and edges: equal graphs have equal hashes."""
    digest = hashlib.sha256(json.dumps([graph.ops, [graph.types[i] for i in graph.type_index]]).encode())
    for key in ("latency", "occupancy", "weight", "bits", "src", "dst", "distance", "edge_latency", "cost"):
        values = getattr(graph, key)
        digest.update(values.astype("<f8" if values.dtype.kind == "f" else "<i8").tobytes())
    return {"name": graph.name, "ops": graph.n_ops, "edges": graph.n_edges, "sha256": digest.hexdigest()}


@dataclass(frozen=True)
class StoredResult:
    """A result file as read: plain data, not yet checked against any graph."""

    path: str
    problem: Mapping[str, Any]
    start: Mapping[str, Any] | None
    objective: int | None
    status: str
    graph: Mapping[str, Any]


def read_result(path: str | PathLike[str]) -> StoredResult:
    """Return the content of a result file.

    Raises
    ------
    GausLabError
        No such file, no JSON, another format or version, a field of the wrong kind; the message names the file.
    """
    where = str(path)
    data = _read_json(where)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise GausLabError(f"{where}: not a result file: format must be {FORMAT!r}, got {found!r}")
    if data.get("version") != VERSION:
        raise GausLabError(
            f"{where}: version must be {VERSION}, got {data.get('version')!r}; a newer gaus_lab wrote this file"
        )
    for key, kinds in (("problem", dict), ("start", (dict, type(None))), ("graph", (dict, type(None)))):
        if not isinstance(data.get(key), kinds):
            raise GausLabError(f"{where}: {key} must be an object, got {type(data.get(key)).__name__}")
    return StoredResult(
        where,
        data["problem"],
        data["start"],
        data.get("objective"),
        str(data.get("status", "unknown")),
        data.get("graph") or {},
    )


def _read_json(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            return json.loads(file.read().decode("utf-8-sig"))
    except OSError as error:
        raise GausLabError(f"{path}: cannot read the result file: {error.strerror}") from None
    except UnicodeDecodeError:
        raise GausLabError(f"{path}: not a result file: it is no UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise GausLabError(f"{path}:{error.lineno}: not a result file: {error.msg}") from None
    except RecursionError:
        raise GausLabError(f"{path}: not a result file: nested too deeply") from None
