"""`Graph`: operations and dependences as read-only arrays, checked once when made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.errors import GraphError
from gaus_lab.graph.arrays import frozen, grouped, select
from gaus_lab.graph.check import EDGE_ARRAYS, OP_ARRAYS, PRODUCER_LATENCY, check_graph, edge_record, op_record
from gaus_lab.graph.order import find_cycle, topological_order

if TYPE_CHECKING:
    import networkx

__all__ = ["DEFAULT_TYPE", "PRODUCER_LATENCY", "Graph"]

IntArray = NDArray[np.int64]

#: Type of an operation for which none is given.
DEFAULT_TYPE = "op"
_MAPPINGS = ("limits", "resource_of_type", "attributes", "op_attributes", "edge_attributes")


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A directed multigraph of operations, frozen, with one array a property.

    Parallel edges and self-edges with distance >= 1 are kept. A cycle whose distances sum to 0 is an error that
    names the cycle. Build one with `Graph.build`, `GraphBuilder`, `Graph.from_networkx` or `gaus_lab.read`.

    Parameters
    ----------
    name : str
    ops : tuple of str
        Names of the n operations, unique.
    types : tuple of str
        Names of the operation types.
    type_index : int array of shape (n,)
        Index into `types` for each operation.
    latency : int array of shape (n,), steps >= 0
    occupancy : int array of shape (n,), steps >= 0
    weight : int or float array of shape (n,), units of the operation's resource >= 0
        Floats are kept; a problem that needs integers says so.
    bits : int or float array of shape (n,)
        Size of the value that the operation produces.
    src, dst : int array of shape (m,)
        Producer and consumer of each dependence, as indices into `ops`.
    distance : int array of shape (m,), iterations >= 0
    edge_latency : int array of shape (m,), steps
        Latency of the edge, or -1 where the producer's latency holds.
    cost : int or float array of shape (m,)
        Weight of the edge in the communication objective.
    limits : mapping of str to int
        Units of each resource that a problem on this graph has by default; a missing one is unlimited.
    resource_of_type : mapping of str to str
        Resource that the operations of a type use, where it is not named like the type. AIGER graphs map all
        their types to the one resource ``op``.
    attributes, op_attributes, edge_attributes : mapping
        What a file or a networkx graph said beyond the above: by key for the graph, by key and index for the
        others. The solvers ignore them; writers keep them.

    Raises
    ------
    GraphError
        An array of the wrong shape, a value out of range, an unknown endpoint, a duplicate name, a cycle of
        distance 0, or totals of 2**62 and more.

    Examples
    --------
    >>> graph = Graph.build(["a", "b"], [("a", "b")])
    >>> graph.n_ops, graph.n_edges, graph.successors("a")
    (2, 1, ('b',))
    """

    name: str
    ops: tuple[str, ...]
    types: tuple[str, ...]
    type_index: IntArray
    latency: IntArray
    occupancy: IntArray
    weight: NDArray[Any]
    bits: NDArray[Any]
    src: IntArray
    dst: IntArray
    distance: IntArray
    edge_latency: IntArray
    cost: NDArray[Any]
    limits: Mapping[str, int] = field(default_factory=dict)
    resource_of_type: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    op_attributes: Mapping[str, Mapping[int, Any]] = field(default_factory=dict)
    edge_attributes: Mapping[str, Mapping[int, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key in ("ops", "types"):
            object.__setattr__(self, key, tuple(getattr(self, key)))
        for key in ("type_index", *OP_ARRAYS, *EDGE_ARRAYS):
            object.__setattr__(self, key, frozen(getattr(self, key), key))
        for key in _MAPPINGS:
            object.__setattr__(self, key, MappingProxyType(dict(getattr(self, key))))
        check_graph(self)
        _ = self.order  # a cycle is an error of construction, not of first use

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by the fields: a read-only mapping has no pickle, and copied arrays would be writable."""
        values = [getattr(self, f.name) for f in fields(self)]
        return Graph, tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)

    # ---- construction -------------------------------------------------------------------------------------

    @classmethod
    def build(
        cls,
        ops: Iterable[str | Mapping[str, Any]],
        edges: Iterable[Sequence[str] | Mapping[str, Any]] = (),
        *,
        name: str = "graph",
        op_types: Mapping[str, Mapping[str, Any]] | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> Graph:
        """Return a graph made from names or dictionaries, with the keys of the graph JSON format.

        Parameters
        ----------
        ops : names, or dicts with ``name`` and optionally ``type``, ``latency``, ``occupancy``, ``weight``, ``bits``
        edges : pairs of names, or dicts with ``src``, ``dst`` and optionally ``distance``, ``latency``, ``cost``
        op_types : dict of type to ``{"latency": 1, "occupancy": 1, "resource": TYPE}``, all optional
        limits : dict of resource to units

        Raises
        ------
        GraphError
            As `Graph`.

        Examples
        --------
        >>> g = Graph.build([{"name": "x", "latency": 2}, "y"], [{"src": "x", "dst": "y", "distance": 1}])
        >>> g.lag.tolist(), g.distance.tolist()
        ([2], [1])
        """
        from gaus_lab.graph.builder import GraphBuilder

        builder = GraphBuilder(name, op_types=op_types, limits=limits)
        for op in ops:
            builder.add_op(**op_record(op))
        for edge in edges:
            builder.add_edge(**edge_record(edge))
        return builder.build()

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, name: str | None = None) -> Graph:
        """Return the graph that a networkx DiGraph or MultiDiGraph describes; see `gaus_lab.graph.convert`."""
        from gaus_lab.graph.convert import from_networkx

        return from_networkx(graph, name)

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return a networkx MultiDiGraph with every property as node and edge attributes."""
        from gaus_lab.graph.convert import to_networkx

        return to_networkx(self)

    def replace(self, **changes: Any) -> Graph:
        """Return a copy with some fields changed; a scalar for an array property sets it for all.

        Examples
        --------
        >>> Graph.build(["a", "b"]).replace(latency=0).latency.tolist()
        [0, 0]
        """
        for key, value in changes.items():
            if key in OP_ARRAYS + EDGE_ARRAYS and np.ndim(value) == 0:
                changes[key] = np.full(len(getattr(self, key)), value)
        return replace(self, **changes)

    def subgraph(self, keep: Iterable[str | int]) -> Graph:
        """Return the graph of some operations (names or indices) and the edges between them."""
        chosen = np.zeros(self.n_ops, dtype=bool)
        chosen[[self.index(op) for op in keep]] = True
        new_index = np.cumsum(chosen) - 1
        edges = np.flatnonzero(chosen[self.src] & chosen[self.dst])
        nodes = np.flatnonzero(chosen)
        return replace(
            self,
            ops=tuple(self.ops[i] for i in nodes),
            type_index=self.type_index[nodes],
            **{key: getattr(self, key)[nodes] for key in OP_ARRAYS},
            src=new_index[self.src[edges]],
            dst=new_index[self.dst[edges]],
            **{key: getattr(self, key)[edges] for key in ("distance", "edge_latency", "cost")},
            op_attributes=select(self.op_attributes, nodes),
            edge_attributes=select(self.edge_attributes, edges),
        )

    # ---- sizes, names, derived arrays ---------------------------------------------------------------------

    @property
    def n_ops(self) -> int:
        """Number of operations."""
        return len(self.ops)

    @property
    def n_edges(self) -> int:
        """Number of dependences, parallel ones counted each."""
        return len(self.src)

    @cached_property
    def _index_of(self) -> dict[str, int]:
        return {op: i for i, op in enumerate(self.ops)}

    def index(self, op: str | int) -> int:
        """Return the index of an operation given by name or index; `GraphError` names an unknown one."""
        if isinstance(op, str):
            if op not in self._index_of:
                raise GraphError(f"graph {self.name!r} has no operation named {op!r}")
            return self._index_of[op]
        if not 0 <= op < self.n_ops:
            raise GraphError(f"graph {self.name!r} has {self.n_ops} operations, none with index {op}")
        return int(op)

    def type_of(self, op: str | int) -> str:
        """Return the type of an operation."""
        return self.types[int(self.type_index[self.index(op)])]

    @cached_property
    def lag(self) -> IntArray:
        """Steps from the producer's start to the consumer's earliest: edge latency, else the producer's; (m,)."""
        own = self.edge_latency != PRODUCER_LATENCY
        return frozen(np.where(own, self.edge_latency, self.latency[self.src]))

    @cached_property
    def span(self) -> IntArray:
        """``max(latency, 1)`` of each operation: the steps it covers in makespan and horizon; shape (n,)."""
        return frozen(np.maximum(self.latency, 1))

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """Names of the resources that the graph's types use, in order of first use."""
        return tuple(dict.fromkeys(self.resource_of_type.get(t, t) for t in self.types))

    @cached_property
    def resource_index(self) -> IntArray:
        """Index into `resources` for each operation; shape (n,)."""
        place = {resource: i for i, resource in enumerate(self.resources)}
        of_type = [place[self.resource_of_type.get(t, t)] for t in self.types]
        return frozen(np.asarray(of_type, dtype=np.int64)[self.type_index])

    @cached_property
    def _by_resource(self) -> dict[str, IntArray]:
        offsets, ops = grouped(self.resource_index, len(self.resources))
        return {resource: ops[offsets[i] : offsets[i + 1]] for i, resource in enumerate(self.resources)}

    def ops_on(self, resource: str) -> IntArray:
        """Return the operations that use a resource, in index order; empty for one that none uses."""
        return self._by_resource.get(resource, frozen([]))

    @cached_property
    def order(self) -> IntArray:
        """Operations in a topological order of the edges of distance 0; shape (n,)."""
        order = topological_order(self.n_ops, self.src, self.dst, self.distance)
        if len(order) < self.n_ops:
            cycle = [self.ops[i] for i in find_cycle(self.n_ops, self.src, self.dst, self.distance)]
            path = " -> ".join([*cycle, cycle[0]] if len(cycle) <= 8 else [*cycle[:8], "..."])
            raise GraphError(
                f"graph {self.name!r} has a cycle of {len(cycle)} operations whose distances sum to 0: {path}; "
                "remove an edge, or give one a distance >= 1 if it is loop-carried"
            )
        return frozen(order)

    @cached_property
    def out_edges(self) -> tuple[IntArray, IntArray]:
        """Edges by producer: (offsets of shape (n + 1,), edge indices of shape (m,))."""
        return grouped(self.src, self.n_ops)

    @cached_property
    def in_edges(self) -> tuple[IntArray, IntArray]:
        """Edges by consumer: (offsets of shape (n + 1,), edge indices of shape (m,))."""
        return grouped(self.dst, self.n_ops)

    def successors(self, op: str | int) -> tuple[str, ...]:
        """Return the consumers of an operation, each once, in edge order."""
        offsets, edges = self.out_edges
        i = self.index(op)
        return tuple(dict.fromkeys(self.ops[v] for v in self.dst[edges[offsets[i] : offsets[i + 1]]]))

    def predecessors(self, op: str | int) -> tuple[str, ...]:
        """Return the producers that an operation depends on, each once, in edge order."""
        offsets, edges = self.in_edges
        i = self.index(op)
        return tuple(dict.fromkeys(self.ops[u] for u in self.src[edges[offsets[i] : offsets[i + 1]]]))

    def edge_label(self, edge: int) -> str:
        """Return ``edge 17 (mul3 -> add9)``, as messages name an edge."""
        return f"edge {edge} ({self.ops[self.src[edge]]} -> {self.ops[self.dst[edge]]})"

    def __repr__(self) -> str:
        return f"Graph({self.name!r}, {self.n_ops} operations, {self.n_edges} edges)"
