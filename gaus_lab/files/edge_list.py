"""Edge lists: ``producer consumer [latency]`` a line, separated by commas, tabs, semicolons or blanks.

Full lines that begin with ``#`` are comments; ``u#1`` is an ordinary name. The third column is the edge's latency;
empty means the producer's. A first line of words such as ``src,dst`` is a header. Ids are text: ``01`` is not ``1``.
A line that ends a graph without edges holds one name and a separator (``lonely,``): an operation without edges.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

from gaus_lab.checks import short
from gaus_lab.errors import GraphError
from gaus_lab.files.records import refuse_losses
from gaus_lab.files.source import decode
from gaus_lab.graph import Graph, GraphBuilder
from gaus_lab.graph.core import PRODUCER_LATENCY

_HEADS = ({"src", "source", "from", "u", "producer"}, {"dst", "target", "to", "v", "consumer", "sink"})
_LATENCY_HEADS = ("latency", "lat", "delay", "weight", "w")


def parse(data: bytes, where: str, name: str) -> Graph:
    """Return the graph in the bytes of an edge list."""
    rows = list(_rows(decode(data, where), where))
    if rows and _is_header(rows[0][1]):
        rows = rows[1:]
    if not rows:
        raise GraphError(f"{where}: the file holds no edge; write one 'producer consumer' a line")
    builder = GraphBuilder(name, where=where)
    for line, cells in rows:
        _add(builder, cells, f"{where}:{line}")
    return builder.build()


def _rows(text: str, where: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of the lines that say something."""
    delimiter = _delimiter(text)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if delimiter is None:
            yield number, line.split()
            continue
        try:
            (cells,) = csv.reader([line], delimiter=delimiter, strict=True)
        except (csv.Error, ValueError) as error:
            raise GraphError(f"{where}:{number}: not a row of values: {error}") from None
        yield number, [cell.strip() for cell in cells]


def _delimiter(text: str) -> str | None:
    """Return the separator that the first line of content uses; None for blanks."""
    first = next((ln for ln in text.split("\n") if ln.strip() and not ln.lstrip().startswith("#")), "")
    return next((mark for mark in ("\t", ",", ";") if mark in first), None)


def _is_header(cells: list[str]) -> bool:
    words = [cell.lower() for cell in cells]
    return len(words) >= 2 and words[0] in _HEADS[0] and words[1] in _HEADS[1] and not _looks_like_edge(words)


def _looks_like_edge(words: list[str]) -> bool:
    """Return whether a line of names such as ``u v 2`` has a value where a header has a word."""
    return words[:2] == ["u", "v"] and (len(words) < 3 or words[2] not in _LATENCY_HEADS)


def _add(builder: GraphBuilder, cells: list[str], place: str) -> None:
    if len(cells) == 2 and cells[0] and not cells[1]:
        if cells[0] not in builder:
            builder.add_op(cells[0], where=place)
        return
    if not 2 <= len(cells) <= 3 or not cells[0] or not cells[1]:
        shown = short(" ".join(cells), render=str)
        raise GraphError(f"{place}: an edge needs 'producer consumer' and optionally a latency, got: {shown}")
    for op in cells[:2]:
        if op not in builder:
            builder.add_op(op, where=place)
    latency = cells[2] if len(cells) == 3 and cells[2] else None
    builder.add_edge(cells[0], cells[1], latency=latency, where=place)


def render(graph: Graph) -> str:
    """Return the graph as comma-separated ``producer,consumer,latency``; names with commas are quoted.

    Raises
    ------
    GraphError
        The graph has properties beyond edges and edge latencies, or operations that would come in another order.
    """
    refuse_losses(graph, "an edge list", keeps=("edge_latency",))
    if not graph.n_ops:
        raise GraphError(f"graph {graph.name!r} is empty; an edge list cannot say that")
    lines = [f"{_cell(op)}," for op in graph.ops] if _reordered(graph) else []
    for src, dst, latency in zip(
        graph.src.tolist(), graph.dst.tolist(), graph.edge_latency.tolist(), strict=True
    ):
        last = "" if latency == PRODUCER_LATENCY else str(latency)
        lines.append(f"{_cell(graph.ops[src])},{_cell(graph.ops[dst])},{last}")
    return "src,dst,latency\n" + "\n".join(lines) + "\n"


def _reordered(graph: Graph) -> bool:
    """Return whether the edges alone would lose operations or their order."""
    seen: dict[int, None] = {}
    for src, dst in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
        seen.setdefault(src)
        seen.setdefault(dst)
    return list(seen) != list(range(graph.n_ops))


def _cell(name: str) -> str:
    if name != name.strip() or not name or any(c in name for c in "\n\r\0") or name.startswith("#"):
        raise GraphError(f"operation name {short(name)} cannot stand in an edge list; write JSON")
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in ',"') else name
