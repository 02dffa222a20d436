"""What the tests of the file formats ask of a graph, and of the error that a bad file gives."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
import pytest

from gaus_lab import files
from gaus_lab.errors import GraphError
from gaus_lab.graph import Graph

ARRAYS = ("latency", "occupancy", "weight", "bits", "src", "dst", "distance", "edge_latency", "cost")


def edges(graph: Graph) -> list[tuple[str, str]]:
    """Return the edges as pairs of names, in edge order."""
    return [(graph.ops[u], graph.ops[v]) for u, v in zip(graph.src.tolist(), graph.dst.tolist(), strict=True)]


def types(graph: Graph) -> list[str]:
    """Return the type of every operation, in order."""
    return [graph.types[k] for k in graph.type_index.tolist()]


def depth(graph: Graph) -> int:
    """Return the number of operations on the longest path of distance-0 edges, by relaxation to a fixed point."""
    level = np.ones(graph.n_ops, dtype=np.int64)
    src, dst = graph.src[graph.distance == 0], graph.dst[graph.distance == 0]
    for _ in range(graph.n_ops):
        before = level.copy()
        np.maximum.at(level, dst, level[src] + 1)
        if (level == before).all():
            break
    return int(level.max(initial=0))


def content(graph: Graph) -> dict[str, Any]:
    """Return all that a graph says, as plain data to compare with ``==``."""
    values: dict[str, Any] = {key: getattr(graph, key).tolist() for key in ARRAYS}
    values |= {"name": graph.name, "ops": graph.ops, "types": types(graph)}
    for key in ("limits", "resource_of_type", "attributes"):
        values[key] = dict(getattr(graph, key))
    for key in ("op_attributes", "edge_attributes"):
        values[key] = {name: dict(of) for name, of in getattr(graph, key).items() if of}
    return values


def refused(data: str | bytes, format: str, name: str = "f") -> str:
    """Return the message with which a text is refused: one line that begins with the file's name."""
    with pytest.raises(GraphError) as caught:
        files.loads(data, format, name)
    return checked(str(caught.value), name)


def refused_file(path: str | PathLike[str]) -> str:
    """Return the message with which a file is refused, without the path of its folder."""
    with pytest.raises(GraphError) as caught:
        files.read(path)
    return checked(str(caught.value), str(path))


def checked(message: str, name: str) -> str:
    """Return a message after a look at its form: one line, the file first, of a length that one can read."""
    assert message.startswith(f"{name}:"), message
    assert message.isprintable(), message
    assert len(message) <= 500 + len(name)
    return message.removeprefix(f"{name}:").lstrip()
