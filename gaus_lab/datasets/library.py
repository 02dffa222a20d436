"""Graphs by name: bundled ones, generators, and files that are found or downloaded."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from gaus_lab.checks import short
from gaus_lab.datasets import download as storage
from gaus_lab.datasets import generators, random_graphs
from gaus_lab.datasets.catalog import ALIASES, FILES, LOCAL_KINDS, DataFile, data_file
from gaus_lab.errors import DatasetError
from gaus_lab.files import read
from gaus_lab.graph import Graph

#: Bundled graphs: the files of the folder ``graphs`` beside this module.
BUNDLED = ("ar", "dct", "diamond", "ewf", "ewf_loop", "hal", "idct", "iir2", "mac")

GENERATORS: dict[str, Callable[..., Graph]] = {
    function.__name__: function
    for function in (
        generators.adder_tree,
        generators.array_multiplier,
        generators.chain,
        generators.fft,
        generators.fir,
        generators.matmul,
        generators.multiplier_tree,
        random_graphs.random_dag,
        random_graphs.random_workload,
    )
}

_GRAPHS = Path(__file__).parent / "graphs"


class Entry(NamedTuple):
    """One row of `list_names`."""

    name: str
    kind: str
    where: str
    available: bool


def load(name: str, **parameters: Any) -> Graph:
    """Return the graph of a name.

    Parameters
    ----------
    name : str
        A bundled graph (``hal``), a generator (``fir``), or a file of a collection: ``epfl/ctrl``,
        ``rw/1000_1`` or ``rw/RW_3``, ``express/hal``, ``modulo/example``. `list_names` gives all.
    parameters
        A generator's, as in ``load("fir", taps=16)``; other graphs have none.

    Raises
    ------
    DatasetError
        The name is unknown (the error names similar ones), a parameter is unknown or out of range, or the
        file is not on this machine and cannot be downloaded.
    GraphError
        The file is damaged.

    Examples
    --------
    >>> load("hal")
    Graph('hal', 11 operations, 8 edges)
    >>> load("fir", taps=4)
    Graph('fir4', 7 operations, 6 edges)
    """
    if isinstance(name, str) and name in GENERATORS:
        return _generate(name, parameters)
    _file(name)
    if parameters:
        raise DatasetError(f"graph {name!r} takes no parameters, got {', '.join(parameters)}")
    return read(fetch(name)).replace(name=ALIASES.get(name, name))


def load_or_read(name_or_path: str | Path, **parameters: Any) -> Graph:
    """Return the graph of an existing file, else of a name that `load` knows.

    Raises
    ------
    DatasetError
        There is no such file and no such name; otherwise as `load`.
    GraphError
        The file is malformed.

    Examples
    --------
    >>> load_or_read("hal").n_ops
    11
    """
    path = Path(name_or_path)
    if not parameters and _is_file(path):
        return read(path)
    if isinstance(name_or_path, str) and _known(name_or_path):
        return load(name_or_path, **parameters)
    raise DatasetError(f"there is no file {short(str(name_or_path))}, and {_unknown(str(name_or_path))}")


def locate(name: str) -> Path:
    """Return the path of a graph's file on this machine, without a download.

    Looks in ``$GAUS_LAB_DATA``, then in the cache (`data_path`); bundled graphs lie in the package.

    Raises
    ------
    DatasetError
        The name is unknown, a generator's, or the file is not here or not the right one.

    Examples
    --------
    >>> locate("hal").name
    'hal.json'
    """
    file = _file(name)
    if isinstance(file, Path):
        return file
    path = storage.find(file)
    if path is None:
        raise storage.missing(file, "nothing was downloaded")
    return path


def fetch(name: str) -> Path:
    """Return the path of a graph's file, after downloading it to the cache if it is not on this machine.

    Raises
    ------
    DatasetError
        As `locate`, and where the download fails.

    Examples
    --------
    >>> fetch("hal") == locate("hal")
    True
    """
    file = _file(name)
    if isinstance(file, Path):
        return file
    return storage.find(file) or storage.download(file)


def list_names() -> tuple[Entry, ...]:
    """Return a row for each name: its kind, where the graph comes from, and whether that is on this machine.

    Examples
    --------
    >>> list_names()[0].name
    'ar'
    """
    rows = [Entry(name, "bundled", "in the package", True) for name in BUNDLED]
    rows += [
        Entry(
            name,
            "generator",
            name + str(inspect.signature(function, eval_str=True)).partition(" ->")[0],
            True,
        )
        for name, function in GENERATORS.items()
    ]
    return (*rows, *(_row(name) for name in _file_names()))


def _row(name: str) -> Entry:
    file = data_file(name)
    assert file is not None
    place = storage.place(file)
    return Entry(name, file.kind, str(place or file.url), place is not None)


def _file_names() -> list[str]:
    """Return all names of files, aliases last in their collection."""
    found = [name for kind, suffix in LOCAL_KINDS.items() for name in storage.local_names(kind, suffix)]
    return [*FILES, *ALIASES, *(name for name in found if data_file(name))]


def _file(name: str) -> Path | DataFile:
    """Return the path of a bundled graph, or what the catalog knows of a file; `DatasetError` if neither."""
    if not isinstance(name, str):
        raise DatasetError(f"the name of a graph must be text, got {short(name)}")
    if name in BUNDLED:
        return _GRAPHS / f"{name}.json"
    if name in GENERATORS:
        raise DatasetError(
            f"graph {name!r} is generated and has no file; load it, or write what load returns"
        )
    file = data_file(name)
    if file is None:
        raise DatasetError(_unknown(name))
    return file


def _known(name: str) -> bool:
    return name in BUNDLED or name in GENERATORS or data_file(name) is not None


def _unknown(name: str) -> str:
    names = [*BUNDLED, *GENERATORS, *_file_names()]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(map(repr, close))}?" if close else "`gaus-lab data list` shows all names"
    return f"no graph is named {short(name)}; {hint}"


def _generate(name: str, parameters: dict[str, Any]) -> Graph:
    signature = inspect.signature(GENERATORS[name])
    try:
        signature.bind(**parameters)
    except TypeError as error:
        known = ", ".join(signature.parameters)
        raise DatasetError(f"generator {name!r}: {error}; its parameters are {known}") from None
    return GENERATORS[name](**parameters)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or with a null character: no file can have this name
        return False
