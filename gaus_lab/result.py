"""`Result`: what `solve` returns, its tables, and its file format."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from os import PathLike
from typing import Any

from gaus_lab.checks import integer, short
from gaus_lab.errors import GausLabError, GausLabWarning
from gaus_lab.files.atomic import write_atomically
from gaus_lab.graph import Graph
from gaus_lab.html import html_table, text_table
from gaus_lab.problem import PROBLEMS, Problem
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
    steps : int
        Steps of the solver (gradient steps, passes, moves).
    interrupted : bool
        Whether an interrupt (Ctrl-C) ended the search.
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
    steps: int = 0
    interrupted: bool = False

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

    def to_dict(self, latency: int | None = None) -> dict[str, Any]:
        """Return the result as the file format has it.

        Parameters
        ----------
        latency : int, optional, steps
            The latency that was given to every operation in place of the file's. It is recorded with the problem,
            since the graph alone no longer tells.
        """
        override = {} if latency is None else {"latency": latency}
        reason = {"reason": self.reason} if self.reason else {}
        return {
            "format": FORMAT,
            "version": VERSION,
            "graph": graph_identity(self.problem.graph),
            "problem": self.problem.to_dict() | override,
            "solver": self.solver,
            "settings": dict(self.settings),
            "seed": self.seed,
            "device": self.device,
            "status": str(self.status),
            **reason,
            "objective": self.objective,
            "terms": dict(self.terms),
            "bound": self.bound,
            "start": None if self.schedule is None else self.schedule.to_dict(),
            "ii": self.problem.interval,
            "seconds": round(self.seconds, 3),
            "history": [[round(seconds, 3), objective] for seconds, objective in self.history],
        }

    def save(self, path: str | PathLike[str], latency: int | None = None) -> None:
        """Write the result file; under its final name it is complete or absent. `latency` is as for `to_dict`.

        Raises
        ------
        GausLabError
            The file cannot be written: no such folder, no permission, a full disk.
        """
        write_atomically(path, json.dumps(self.to_dict(latency), indent=1) + "\n")


def graph_identity(graph: Graph) -> dict[str, Any]:
    """Return name, sizes and a SHA-256 over names, properties and edges: equal graphs have equal hashes."""
    digest = hashlib.sha256(json.dumps([graph.ops, [graph.types[i] for i in graph.type_index]]).encode())
    for key in ("latency", "occupancy", "weight", "bits", "src", "dst", "distance", "edge_latency", "cost"):
        values = getattr(graph, key)
        digest.update(values.astype("<f8" if values.dtype.kind == "f" else "<i8").tobytes())
    return {"name": graph.name, "ops": graph.n_ops, "edges": graph.n_edges, "sha256": digest.hexdigest()}


#: Keys of ``problem`` in a result file.
_PROBLEM_KEYS = ("horizon", "ii", "limits", "resource_weights", "communication_weight", "hold_outputs")


@dataclass(frozen=True)
class StoredResult:
    """A result file as read. Only the kinds of its top-level fields are checked; its graph is not in the file.

    Attributes
    ----------
    path : str
    problem : dict
        Settings of the problem, among them ``formulation``.
    start : dict or None
        Operation name -> start; None where no schedule was found.
    objective : int or None
        As the file claims.
    status : str
    sha256 : str or None
        Hash of the graph that was scheduled, see `graph_identity`.
    """

    path: str
    problem: Mapping[str, Any]
    start: Mapping[str, Any] | None
    objective: int | None
    status: str
    sha256: str | None

    def problem_on(self, graph: Graph) -> Problem:
        """Return the problem on a graph; a latency in the file replaces that of every operation.

        Settings that the file leaves out are the problem's defaults. Unknown ones are ignored, with a warning.

        Raises
        ------
        GausLabError
            A setting of the wrong kind or out of range, or one that the formulation does not have; the message names
            file and field.
        """
        given = {key: value for key, value in self.problem.items() if value is not None}
        problem_class = self._problem_class(given.pop("formulation", None))
        latency = self._integer(given.pop("latency", None), "latency")
        settings = self._settings(problem_class, given)
        try:
            return problem_class(graph if latency is None else graph.replace(latency=latency), **settings)
        except GausLabError as error:
            raise GausLabError(f"{self.path}: problem: {error}") from None

    def schedule_on(self, problem: Problem) -> Schedule | None:
        """Return the schedule, None where the file has none.

        Raises
        ------
        GausLabError
            A start is missing or of the wrong kind, or an operation is unknown: the file is of another graph.
        """
        if self.start is None:
            return None
        text = next((op for op, step in self.start.items() if isinstance(step, str)), None)
        if text is not None:
            found = short(self.start[text])
            raise GausLabError(f"{self.path}: start of {text} must be an integer, got {found}")
        try:
            return problem.schedule(self.start)
        except GausLabError as error:
            raise GausLabError(f"{self.path}: {error}") from None

    def _problem_class(self, formulation: object) -> type[Problem]:
        if not isinstance(formulation, str) or formulation not in PROBLEMS:
            rule = f"problem.formulation must be one of {', '.join(PROBLEMS)}"
            raise GausLabError(f"{self.path}: {rule}, got {short(formulation)}")
        return PROBLEMS[formulation]

    def _settings(self, problem_class: type[Problem], given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked keywords for the problem class."""
        own = {field.name for field in fields(problem_class)}
        settings = {}
        for key, value in given.items():
            if key not in _PROBLEM_KEYS:
                warnings.warn(
                    f"{self.path}: problem.{key} is unknown and ignored", GausLabWarning, stacklevel=3
                )
            elif key in own:
                settings[key] = self._checked(key, value)
            elif value:  # 0, {} and false say the same as nothing
                why = f"formulation {problem_class.formulation} has none"
                raise GausLabError(f"{self.path}: problem.{key} must be null, got {short(value)}: {why}")
        if "ii" in own and "ii" not in settings:
            raise GausLabError(f"{self.path}: problem.ii must be an integer >= 1, it is missing")
        return settings

    def _checked(self, key: str, value: Any) -> Any:
        if key == "hold_outputs":
            if not isinstance(value, bool):
                raise GausLabError(f"{self.path}: problem.{key} must be true or false, got {short(value)}")
            return value
        if key == "limits" or (key == "resource_weights" and isinstance(value, dict)):
            if not isinstance(value, dict):
                raise GausLabError(f"{self.path}: problem.{key} must be an object, got {short(value)}")
            return {name: self._integer(number, f"{key}.{name}") for name, number in value.items()}
        return self._integer(value, key, 1 if key == "ii" else 0)

    def _integer(self, value: Any, key: str, minimum: int = 0) -> int | None:
        what = f"{self.path}: problem.{key}"
        if isinstance(value, str):  # "12" is the wrong kind in a file that has numbers
            raise GausLabError(f"{what} must be an integer >= {minimum}, got {short(value)}")
        return None if value is None else integer(value, what, minimum, GausLabError)


def read_result(path: str | PathLike[str]) -> StoredResult:
    """Return the content of a result file. It needs ``format``, ``version``, ``problem`` and ``start`` only.

    Raises
    ------
    GausLabError
        No such file, no JSON, another format or version, a field of the wrong kind; the message names the file.
    """
    where = str(path)
    data = _read_json(where)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else data
        raise GausLabError(f"{where}: not a result file: format must be {FORMAT!r}, got {short(found)}")
    version = data.get("version")
    if version != VERSION or isinstance(version, bool):
        raise GausLabError(f"{where}: version must be {VERSION}, got {short(version)}")
    if "start" not in data:
        raise GausLabError(f"{where}: start must be an object or null, it is missing")
    graph = _field(data, "graph", dict, "an object", where) or {}
    problem = _field(data, "problem", dict, "an object", where)
    if problem is None:
        raise GausLabError(f"{where}: problem must be an object, it is missing")
    ii = data.get("ii")
    if ii is not None and ii != problem.get("ii"):
        other = short(problem.get("ii"))
        raise GausLabError(f"{where}: ii is {short(ii)}, problem.ii is {other}; make them agree")
    return StoredResult(
        path=where,
        problem=problem,
        start=_field(data, "start", dict, "an object or null", where),
        objective=_field(data, "objective", int, "an integer or null", where),
        status=_field(data, "status", str, "text", where) or "unknown",
        sha256=_field(graph, "sha256", str, "text", where, "graph."),
    )


def _field(data: dict[str, Any], key: str, kind: type, what: str, where: str, above: str = "") -> Any:
    """Return the value of a key that must be of one kind, None if it is missing or null."""
    value = data.get(key)
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise GausLabError(f"{where}: {above}{key} must be {what}, got {short(value)}")
    return value


def _read_json(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except OSError as error:
        raise GausLabError(f"{path}: cannot read the result file: {error.strerror}") from None
    except UnicodeDecodeError:
        raise GausLabError(f"{path}: not a result file: it is no UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise GausLabError(f"{path}:{error.lineno}: not a result file: {error.msg}") from None
    except RecursionError:
        raise GausLabError(f"{path}: not a result file: nested too deeply") from None
    except ValueError as error:  # a key twice, NaN, a number of thousands of digits
        raise GausLabError(f"{path}: not a result file: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; `ValueError` if a key stands in it twice, since readers differ in which one they take."""
    result = dict(pairs)
    if len(result) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {short(counts.most_common(1)[0][0])} stands twice in one object")
    return result


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number in JSON")
