"""Graph files: ``read(path)`` and ``write(graph, path)``. A file is data; nothing in it is ever executed."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from typing import Any

from gaus_lab.checks import short
from gaus_lab.errors import GraphError
from gaus_lab.files.atomic import write_atomically
from gaus_lab.files.source import encoded, one_line, read_bytes, unpack
from gaus_lab.graph import Graph

__all__ = ["FORMATS", "Format", "dumps", "loads", "read", "write", "write_atomically"]


@dataclass(frozen=True)
class Format:
    """A file format: the module that reads and writes it, its suffixes, and how its text begins."""

    module: str
    suffixes: tuple[str, ...]
    begins: Callable[[bytes], bool]

    def function(self, name: str) -> Any:
        """Return ``parse`` or ``render`` of the format's module."""
        return getattr(import_module(f"{__name__}.{self.module}"), name)


def _starts(*words: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.lower().startswith(words)


#: Formats by name. Content decides where a suffix does not.
FORMATS: dict[str, Format] = {
    "json": Format("json_format", (".json",), _starts(b"{")),
    "aiger": Format("aiger", (".aig", ".aag"), _starts(b"aig ", b"aag ")),
    "blif": Format("blif", (".blif",), _starts(b".model", b".inputs", b".names")),
    "gml": Format("gml", (".gml",), _starts(b"graph [", b"graph\n", b"creator ", b"graph[")),
    "graphml": Format("graphml", (".graphml", ".xml"), _starts(b"<?xml", b"<graphml")),
    "dot": Format(
        "dot", (".dot", ".gv"), _starts(b"digraph", b"strict digraph", b"graph {", b"strict graph")
    ),
    "edgelist": Format("edge_list", (".csv", ".tsv", ".edges", ".edgelist", ".txt"), lambda head: False),
}


def read(path: str | PathLike[str], format: str | None = None) -> Graph:
    """Return the graph in a file.

    Parameters
    ----------
    path : path
        Plain or gzip, whatever its name says.
    format : str, optional
        A key of `FORMATS`; by default the suffix decides, else the first bytes.

    Raises
    ------
    GraphError
        The file cannot be read or breaks a rule of its format or of graphs; the message names file and line.
    """
    where = os.fsdecode(path)
    data = read_bytes(where)
    stem, suffix = _split(where)
    chosen = _by_name(format, where) if format is not None else _recognised(data, suffix, where)
    return _parsed(chosen, data, where, stem)


def loads(text: str | bytes, format: str, name: str = "graph") -> Graph:
    """Return the graph in a text, or in bytes as a file holds them (gzip too).

    Parameters
    ----------
    text : str or bytes
    format : str
        A key of `FORMATS`.
    name : str
        Errors call the text so, and so is the graph named unless it has a name of its own.

    Raises
    ------
    GraphError
        As `read`.
    """
    data = encoded(text, name) if isinstance(text, str) else text
    return _parsed(_by_name(format, name), unpack(data, name), name, name)


def dumps(graph: Graph, format: str) -> str:
    """Return the graph as text of a format; AIGER is read only.

    Raises
    ------
    GraphError
        The format cannot express something in the graph; the message says what.
    """
    text: str = _by_name(format, graph.name).function("render")(graph)
    encoded(text, f"graph {graph.name!r}")
    return text


def write(graph: Graph, path: str | PathLike[str], format: str | None = None) -> None:
    """Write a graph to a file, complete or not at all; a name that ends in ``.gz`` makes it a gzip archive.

    Raises
    ------
    GraphError
        Unknown format, or one that cannot express something in the graph.
    GausLabError
        The file cannot be written.
    """
    where = os.fsdecode(path)
    chosen = _by_name(format, where) if format is not None else _by_suffix(_split(where)[1])
    if chosen is None:
        raise GraphError(f"{where}: the suffix tells no format; use one of {_known()}, or pass format=")
    text: str = chosen.function("render")(graph)
    data = encoded(text, f"graph {graph.name!r}")
    write_atomically(where, gzip.compress(data, mtime=0) if where.lower().endswith(".gz") else data)


def _parsed(chosen: Format, data: bytes, where: str, name: str) -> Graph:
    """Return the graph, or raise an error of one line, whatever odd names the file and its content have."""
    try:
        return chosen.function("parse")(data, where, name)  # type: ignore[no-any-return]
    except GraphError as error:
        raise GraphError(one_line(str(error))) from None
    except RecursionError:
        raise GraphError(one_line(f"{where}: nested too deeply for a graph file")) from None


def _split(where: str) -> tuple[str, str]:
    base = os.path.basename(where)
    if base.lower().endswith(".gz"):
        base = base[:-3]
    stem, suffix = os.path.splitext(base)
    return stem or base, suffix.lower()


def _by_name(format: str, where: str) -> Format:
    if format not in FORMATS:
        raise GraphError(f"{where}: there is no format {short(format)}; known: {', '.join(FORMATS)}")
    return FORMATS[format]


def _by_suffix(suffix: str) -> Format | None:
    return next((f for f in FORMATS.values() if suffix in f.suffixes), None)


def _recognised(data: bytes, suffix: str, where: str) -> Format:
    head = data[:200].removeprefix(b"\xef\xbb\xbf").lstrip()
    by_suffix = _by_suffix(suffix)
    if by_suffix is not None:
        return by_suffix
    by_content = next((f for f in FORMATS.values() if f.begins(head)), None)
    if by_content is None:
        raise GraphError(f"{where}: neither the suffix nor the content tells the format; known: {_known()}")
    return by_content


def _known() -> str:
    return ", ".join(suffix for f in FORMATS.values() for suffix in f.suffixes)
