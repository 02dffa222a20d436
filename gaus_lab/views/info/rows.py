"""What the views know of a run, and the names under which runs appear in a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol


class RunRow(Protocol):
    """One run of a solver on a problem; a record of `compare` is one.

    Attributes
    ----------
    graph : str
    ops, edges : int
    formulation : str
    horizon, ii : int or None, steps
    weights : str
    solver : str
    settings : tuple of (name, value)
    seed : int
    objective, bound : int or None
    seconds : float or None
    peak_memory_mb : float or None, 10**6 bytes
    history : tuple of (seconds, objective)
    """

    @property
    def graph(self) -> str: ...  # noqa: D102  (described above, as the others are)
    @property
    def ops(self) -> int: ...  # noqa: D102
    @property
    def edges(self) -> int: ...  # noqa: D102
    @property
    def formulation(self) -> str: ...  # noqa: D102
    @property
    def horizon(self) -> int | None: ...  # noqa: D102
    @property
    def ii(self) -> int | None: ...  # noqa: D102
    @property
    def weights(self) -> str: ...  # noqa: D102
    @property
    def solver(self) -> str: ...  # noqa: D102
    @property
    def settings(self) -> tuple[tuple[str, Any], ...]: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def objective(self) -> int | None: ...  # noqa: D102
    @property
    def bound(self) -> int | None: ...  # noqa: D102
    @property
    def seconds(self) -> float | None: ...  # noqa: D102
    @property
    def peak_memory_mb(self) -> float | None: ...  # noqa: D102
    @property
    def history(self) -> tuple[tuple[float, int], ...]: ...  # noqa: D102


def solver_labels(rows: Sequence[RunRow]) -> list[str]:
    """Return a label for the solver of each row: its name, and those settings in which rows of that name differ.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> problem = ("g", 3, 2, "A", 4, None, "")
    >>> solver_labels([Record(*problem, "gaus", 0, settings=(("kappa", k), ("rho", 1))) for k in (0.2, 0.5)])
    ['gaus kappa=0.2', 'gaus kappa=0.5']
    """
    values: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for key, value in row.settings:
            values.setdefault((row.solver, key), set()).add(repr(value))
    return [
        " ".join(
            [
                row.solver,
                *(f"{key}={value}" for key, value in row.settings if len(values[row.solver, key]) > 1),
            ]
        )
        for row in rows
    ]


def instance_names(rows: Sequence[RunRow]) -> list[str]:
    """Return a name for the problem of each row: its graph, and what tells it from others on graphs of that name.

    Examples
    --------
    >>> from gaus_lab.compare import Record
    >>> instance_names([Record("g", 3, 2, "A", horizon, None, "", "list", 0) for horizon in (4, 5)])
    ['g horizon=4', 'g horizon=5']
    """
    keys = ("ops", "edges", "formulation", "horizon", "ii", "weights")
    values: dict[tuple[str, str], set[object]] = {}
    for row in rows:
        for key in keys:
            values.setdefault((row.graph, key), set()).add(getattr(row, key))
    return [
        " ".join(
            [row.graph, *(f"{key}={getattr(row, key)}" for key in keys if len(values[row.graph, key]) > 1)]
        )
        for row in rows
    ]


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return each name once, in the order of its first appearance."""
    return tuple(dict.fromkeys(names))
