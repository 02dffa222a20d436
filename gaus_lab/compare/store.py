"""`RecordFile`: finished runs in a file of JSON lines, so that a comparison goes on where it was broken off."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from os import PathLike
from types import TracebackType
from typing import IO, Any, Self

from gaus_lab.checks import short
from gaus_lab.compare.records import Record
from gaus_lab.errors import GausLabError
from gaus_lab.problem import Problem
from gaus_lab.result import graph_identity
from gaus_lab.run import MaxSeconds, Solver, StopCriterion

FORMAT = "gaus-lab/record"
VERSION = 1

#: How every line begins, so that what a crash has cut off can be told from the last line of somebody's notes.
_BEGIN = json.dumps({"format": FORMAT, "version": VERSION})[:-1].encode()

_REMEDY = "name another file, or one that does not exist yet"

#: Kinds of a record's values by the annotations of its fields. A float may have been written as an integer.
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "int | None": (int, type(None)),
    "float | None": (float, int, type(None)),
}


def key_of(
    problem: Problem, solver: Solver, seed: int, stop: Iterable[StopCriterion], sha256: str | None = None
) -> str:
    """Return what identifies a run, as JSON text: runs of equal keys need not be made twice.

    It has the graph's hash, the problem's settings, the solver's name and settings, the seed, the time limit in
    seconds, and the other stop criteria. The graph's name, the machine and the version of the package are no part.

    Parameters
    ----------
    sha256 : str, optional
        The graph's hash, where it is known already.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> problem = gl.LatencyProblem(gl.load("hal"))
    >>> key_of(problem, gl.Asap(), 0, [MaxSeconds(5)]) == key_of(problem, gl.Asap(), 0, [MaxSeconds(6)])
    False
    """
    seconds = [criterion.seconds for criterion in stop if isinstance(criterion, MaxSeconds)]
    others = [
        [type(criterion).__name__, settings_of(criterion)]
        for criterion in stop
        if not isinstance(criterion, MaxSeconds)
    ]
    key = {
        "graph": graph_identity(problem.graph)["sha256"] if sha256 is None else sha256,
        "problem": problem.to_dict(),
        "solver": solver.name,
        "settings": settings_of(solver),
        "seed": seed,
        "seconds": min(seconds, default=None),
        "stop": others,
    }
    return _canonical(key)


def settings_of(value: object) -> dict[str, Any]:
    """Return the settings of a solver or stop criterion; {} for one that is no dataclass."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return {}


def _canonical(key: Mapping[str, Any]) -> str:
    return json.dumps(key, sort_keys=True, default=repr)


@dataclass
class RecordFile:
    """Finished runs by their keys, and the file to which further ones are added.

    Each line is a JSON object with ``format``, ``version``, ``key`` and ``record``, so that such files can be put
    together with ``cat``. A run that stands there twice counts as its last line says. A last line that a crash has
    cut off is dropped; anything else that is no record is an error, and the file then stays as it is.

    Attributes
    ----------
    path : str
    known : dict of str to Record

    Raises
    ------
    GausLabError
        The file cannot be read or written, or has a line that is no record; with file, line, rule and remedy.

    Examples
    --------
    >>> import tempfile
    >>> row = Record("g", 3, 2, "A", 4, None, "op=1", "asap", 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with RecordFile.open(f"{folder}/r.jsonl") as store:
    ...         store.append("{}", row)
    ...     with RecordFile.open(f"{folder}/r.jsonl") as store:
    ...         store.known == {"{}": row}
    True
    """

    path: str
    known: dict[str, Record]
    _file: IO[bytes]

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Self:
        """Return the content of a file, open for more; a file that does not exist is made."""
        where = os.fspath(path)
        data = _content(where)
        known, end = _parsed(where, data)
        try:
            file = open(where, "ab")  # noqa: SIM115  (`close` closes it)
            if end < len(data):
                file.truncate(end)
            elif data and not data.endswith(b"\n"):  # cut off between the record and its line break
                file.write(b"\n")
            return cls(where, known, file)
        except OSError as error:
            raise _unwritable(where, error) from None

    def append(self, key: str, record: Record) -> None:
        """Add a finished run; it is on the disk when this returns."""
        line = {"format": FORMAT, "version": VERSION, "key": json.loads(key), "record": _plain(record)}
        try:
            self._file.write(json.dumps(line, default=repr).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritable(self.path, error) from None
        self.known[key] = record

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise GausLabError(f"{path}: cannot read the records: {reason}; {_REMEDY}") from None


def _unwritable(path: str, error: OSError) -> GausLabError:
    return GausLabError(f"{path}: cannot write the records: {error.strerror}; {_REMEDY}")


def _parsed(path: str, data: bytes) -> tuple[dict[str, Record], int]:
    """Return the records by key, and where the last complete line ends, bytes."""
    known: dict[str, Record] = {}
    end = 0
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        if line.isspace():  # left by an editor
            end += len(line)
            continue
        try:
            key, record = _entry(line)
        except ValueError as error:
            if end + len(line) == len(data) and _cut_off(line):
                break
            raise GausLabError(
                f"{path}:{number}: not a file of records: {error}; nothing was changed: {_REMEDY}"
            ) from None
        known[key] = record
        end += len(line)
    return known, end


def _cut_off(line: bytes) -> bool:
    """Return whether a line is the begin of a record, or the zeros that some file systems leave after a crash."""
    known = line.startswith(_BEGIN) or _BEGIN.startswith(line) or not line.strip(b"\0")
    return known and not line.endswith(b"\n")


def _entry(line: bytes) -> tuple[str, Record]:
    """Return key and record of a line; `ValueError` says what is wrong with it."""
    try:
        data = json.loads(line)
    except UnicodeDecodeError:
        raise ValueError("a line must be a JSON object, this one is no UTF-8 text") from None
    except (ValueError, RecursionError):
        shown = short(line, render=lambda text: repr(bytes(text[:60]))[1:])  # type: ignore[index]
        raise ValueError(f"a line must be a JSON object, got {shown}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else data
        raise ValueError(f"format must be {FORMAT!r}, got {short(found)}")
    if data.get("version") != VERSION or isinstance(data["version"], bool):
        raise ValueError(f"version must be {VERSION}, got {short(data.get('version'))}")
    for name in ("key", "record"):
        if not isinstance(data.get(name), dict):
            raise ValueError(f"{name} must be an object, got {short(data.get(name))}")
    return _canonical(data["key"]), _record(data["record"])


def _plain(record: Record) -> dict[str, Any]:
    """Return a record as JSON has it: what `_record` reads."""
    values = {field.name: getattr(record, field.name) for field in fields(Record)}
    return values | {"settings": dict(record.settings)}


def _record(values: dict[str, Any]) -> Record:
    names = {field.name: str(field.type) for field in fields(Record)}
    for name in [*values, *names]:
        if name not in names or name not in values:
            raise ValueError(
                f"record.{short(name, render=str)} is {'missing' if name in names else 'unknown'}"
            )
    for name, kind in names.items():
        value = values[name]
        if kind in _KINDS and (not isinstance(value, _KINDS[kind]) or isinstance(value, bool)):
            raise ValueError(f"record.{name} must be {kind.replace(' | ', ' or ')}, got {short(value)}")
    if not isinstance(values["settings"], dict):
        raise ValueError(f"record.settings must be an object, got {short(values['settings'])}")
    settings = tuple(values["settings"].items())
    return Record(**values | {"settings": settings, "history": _history(values["history"])})


def _history(value: Any) -> tuple[tuple[float, int], ...]:
    if not isinstance(value, list) or not all(map(_is_improvement, value)):
        raise ValueError(f"record.history must be a list of [seconds, objective], got {short(value)}")
    return tuple((float(seconds), objective) for seconds, objective in value)


def _is_improvement(pair: Any) -> bool:
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    seconds, objective = pair
    return isinstance(seconds, (int, float)) and type(objective) is int and not isinstance(seconds, bool)
