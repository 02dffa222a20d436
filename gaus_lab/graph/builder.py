"""`GraphBuilder`: collects operations and edges one by one, with checks that say where a bad value came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.checks import MAX_INTEGER, integer, number, short
from gaus_lab.errors import GraphError
from gaus_lab.graph.check import PRODUCER_LATENCY
from gaus_lab.graph.core import DEFAULT_TYPE, Graph

_TYPE_KEYS = {"latency", "occupancy", "resource"}


class GraphBuilder:
    """Collects a graph from records, as files and users give them.

    Parameters
    ----------
    name : str
    op_types : dict of type to ``{"latency", "occupancy", "resource"}``, all optional
        Defaults for the operations of a type; 1, 1 and the type's own name.
    limits : dict of resource to units

    Notes
    -----
    `where` of `add_op` and `add_edge` is put before the message of an error: ``net.dot:12``. Keywords that are no
    property of an operation or edge are kept as attributes.

    Examples
    --------
    >>> builder = GraphBuilder("pair")
    >>> builder.add_op("a", latency=2), builder.add_op("b")
    (0, 1)
    >>> builder.add_edge("a", "b", distance=1)
    0
    >>> builder.build()
    Graph('pair', 2 operations, 1 edges)
    """

    def __init__(
        self,
        name: str = "graph",
        *,
        op_types: Mapping[str, Mapping[str, Any]] | None = None,
        limits: Mapping[str, Any] | None = None,
        where: str = "",
    ) -> None:
        self.name = name
        self.attributes: dict[str, Any] = {}
        self._prefix = f"{where}: " if where else ""
        self._type_defaults: dict[str, dict[str, Any]] = {}
        self._resources: dict[str, str] = {}
        for op_type, defaults in (op_types or {}).items():
            self._add_type(op_type, defaults)
        self._limits = {
            resource: integer(units, f"{self._prefix}limit of {resource!r}")
            for resource, units in (limits or {}).items()
        }
        self._index: dict[str, int] = {}
        self._types: dict[str, int] = {}
        self._op_rows: list[tuple[int, int, int, int | float, int | float]] = []
        self._edge_rows: list[tuple[int, int, int, int, int | float]] = []
        self._op_attributes: dict[str, dict[int, Any]] = {}
        self._edge_attributes: dict[str, dict[int, Any]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._index

    def add_op(
        self,
        /,  # an attribute may be called "self"
        name: str,
        *,
        type: str = DEFAULT_TYPE,
        latency: Any = None,
        occupancy: Any = None,
        weight: Any = 1,
        bits: Any = 1,
        where: str = "",
        **attributes: Any,
    ) -> int:
        """Add an operation and return its index; `GraphError` on a name used twice or a value out of range."""
        prefix = f"{where}: " if where else self._prefix
        index = len(self._op_rows)
        for what, text in (("name", name), ("type", type)):
            if not isinstance(text, str):
                raise GraphError(f"{prefix}{what} of op {index} must be text, got {short(text)}")
        if name in self._index:
            raise GraphError(f"{prefix}operation {name!r} is declared twice; names must be unique")
        defaults = self._type_defaults.get(type, {})
        latency = defaults.get("latency", 1) if latency is None else latency
        occupancy = defaults.get("occupancy", 1) if occupancy is None else occupancy
        values = (latency, occupancy, weight, bits)
        if not _plain(*values):
            label = f"{prefix}op {index} ({name}):"
            values = (
                integer(latency, f"{label} latency"),
                integer(occupancy, f"{label} occupancy"),
                number(weight, f"{label} weight"),
                number(bits, f"{label} bits"),
            )
        self._index[name] = index
        self._op_rows.append((self._types.setdefault(type, len(self._types)), *values))
        for key, value in attributes.items():
            self._op_attributes.setdefault(key, {})[index] = value
        return index

    def add_edge(
        self,
        /,
        src: str,
        dst: str,
        *,
        distance: Any = 0,
        latency: Any = None,
        cost: Any = 1,
        where: str = "",
        **attributes: Any,
    ) -> int:
        """Add a dependence between two known operations and return its index; `GraphError` on a bad value."""
        prefix = f"{where}: " if where else self._prefix
        index = len(self._edge_rows)
        label = f"{prefix}edge {index} ({src} -> {dst}):"
        for end in (src, dst):
            if end not in self._index:
                raise GraphError(f"{label} there is no operation {end!r}; declare it, or correct the name")
        if not _plain(distance, cost, 0 if latency is None else latency):
            distance = integer(distance, f"{label} distance")
            latency = None if latency is None else integer(latency, f"{label} latency")
            cost = number(cost, f"{label} cost")
        latency = PRODUCER_LATENCY if latency is None else latency
        self._edge_rows.append((self._index[src], self._index[dst], distance, latency, cost))
        for key, value in attributes.items():
            self._edge_attributes.setdefault(key, {})[index] = value
        return index

    def build(self) -> Graph:
        """Return the graph; `GraphError` on a cycle of distance 0."""
        type_index, latency, occupancy, weight, bits = _columns(self._op_rows, 5)
        src, dst, distance, edge_latency, cost = _columns(self._edge_rows, 5)
        try:
            return Graph(
                name=self.name,
                ops=tuple(self._index),
                types=tuple(self._types),
                type_index=type_index,
                latency=latency,
                occupancy=occupancy,
                weight=weight,
                bits=bits,
                src=src,
                dst=dst,
                distance=distance,
                edge_latency=edge_latency,
                cost=cost,
                limits=self._limits,
                resource_of_type={t: r for t, r in self._resources.items() if t in self._types},
                attributes=self.attributes,
                op_attributes=self._op_attributes,
                edge_attributes=self._edge_attributes,
            )
        except GraphError as error:
            raise GraphError(f"{self._prefix}{error}") from None

    def _add_type(self, op_type: str, defaults: Mapping[str, Any]) -> None:
        label = f"{self._prefix}op type {op_type!r}"
        if not isinstance(defaults, Mapping) or not set(defaults) <= _TYPE_KEYS:
            raise GraphError(
                f"{label} must be an object with keys among {sorted(_TYPE_KEYS)}, got {short(defaults)}"
            )
        self._type_defaults[op_type] = {
            key: integer(defaults[key], f"{label}: {key}")
            for key in ("latency", "occupancy")
            if key in defaults
        }
        resource = defaults.get("resource", op_type)
        if not isinstance(resource, str):
            raise GraphError(f"{label}: resource must be text, got {short(resource)}")
        if resource != op_type:
            self._resources[op_type] = resource


def _plain(*values: Any) -> bool:
    """Return whether all are ints in range as they stand: true of nearly every record, and quick to see."""
    return all(type(value) is int and 0 <= value <= MAX_INTEGER for value in values)


def _columns(rows: list[tuple[Any, ...]], width: int) -> list[NDArray[Any]]:
    if not rows:
        return [np.zeros(0, dtype=np.int64)] * width
    return [np.asarray(column) for column in zip(*rows, strict=True)]
