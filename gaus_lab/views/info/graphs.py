"""What graphs are like before they are scheduled: the rows of a table of instances."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gaus_lab.analysis import asap, critical_path_length, mii, mobility
from gaus_lab.graph import Graph


@dataclass(frozen=True)
class GraphStatistics:
    """One graph in numbers.

    Attributes
    ----------
    name : str
    ops, edges, carried : int
        Operations; dependences; those of them with a distance >= 1.
    types : int
        Kinds of operation in use.
    inputs, outputs : int
        Operations without a producer, without a consumer, in the same iteration.
    critical_path : int, steps
    width : int
        Largest number of operations that start in one step of the ASAP schedule.
    fan_out : int
        Largest number of edges that leave one operation.
    movable : float
        Share of the operations with a mobility above 0 at the critical path.
    mii : int or None, steps
        Lower bound on the initiation interval, with the graph's own limits; None without a loop-carried edge.
    """

    name: str
    ops: int
    edges: int
    carried: int
    types: int
    inputs: int
    outputs: int
    critical_path: int
    width: int
    fan_out: int
    movable: float
    mii: int | None


def graph_statistics(graphs: Iterable[Graph]) -> tuple[GraphStatistics, ...]:
    """Return a row a graph; linear in operations plus edges, but for the bound on the initiation interval.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> [row] = graph_statistics([gl.load("hal")])
    >>> row.ops, row.edges, row.critical_path, row.width
    (11, 8, 6, 5)
    """
    return tuple(_statistics(graph) for graph in graphs)


def _statistics(graph: Graph) -> GraphStatistics:
    inside = graph.distance == 0
    into = np.bincount(graph.dst[inside], minlength=graph.n_ops)
    out = np.bincount(graph.src[inside], minlength=graph.n_ops)
    horizon = critical_path_length(graph)
    carried = int(np.count_nonzero(~inside))
    return GraphStatistics(
        name=graph.name,
        ops=graph.n_ops,
        edges=graph.n_edges,
        carried=carried,
        types=len(np.unique(graph.type_index)),
        inputs=int(np.count_nonzero(into == 0)),
        outputs=int(np.count_nonzero(out == 0)),
        critical_path=horizon,
        width=int(np.unique(asap(graph), return_counts=True)[1].max(initial=0)),
        fan_out=int(np.bincount(graph.src, minlength=1).max()),
        movable=round(float(np.mean(mobility(graph, horizon) > 0)), 6) if graph.n_ops else 0.0,
        mii=mii(graph) if carried else None,
    )


def statistics_header() -> list[str]:
    """Return the words above the columns of `statistics_cells`."""
    return [
        *("graph", "operations", "edges", "loop-carried", "types", "inputs", "outputs"),
        *("critical path", "width", "fan-out", "movable", "MII"),
    ]


def statistics_cells(rows: Iterable[GraphStatistics]) -> list[list[str]]:
    """Return the rows as text, for a table of any kind.

    Examples
    --------
    >>> import gaus_lab as gl
    >>> statistics_cells(graph_statistics([gl.load("hal")]))[0][:3]
    ['hal', '11', '8']
    """
    return [
        [
            row.name,
            *(f"{number:,}" for number in (row.ops, row.edges, row.carried, row.types, row.inputs)),
            *(f"{number:,}" for number in (row.outputs, row.critical_path, row.width, row.fan_out)),
            f"{100 * row.movable:.0f} %",
            "-" if row.mii is None else f"{row.mii:,}",
        ]
        for row in rows
    ]
