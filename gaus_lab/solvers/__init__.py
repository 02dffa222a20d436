"""The solvers by their names on the command line. A module is loaded when its solver is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gaus_lab.errors import SolverError
from gaus_lab.run import Solver

#: Name on the command line -> module below this package and class.
SOLVERS: dict[str, tuple[str, str]] = {
    "gaus": ("differentiable.gaus", "GauS"),
    "gaus-plain": ("differentiable.gaus", "GauS"),
    "gumbel": ("differentiable.gumbel", "GumbelSoftmax"),
    "asap": ("extremes", "Asap"),
    "alap": ("extremes", "Alap"),
    "list": ("list_scheduling", "ListScheduling"),
    "force": ("force_directed", "ForceDirected"),
    "ims": ("iterative_modulo", "IterativeModulo"),
    "local": ("local_search", "LocalSearch"),
    "cpsat": ("cp_sat", "CpSat"),
    "milp": ("milp", "Milp"),
}


#: Settings that a name stands for, where they are not the defaults of its class.
SETTINGS: dict[str, dict[str, Any]] = {"gaus-plain": {"refine": 0.0}}


def solver_named(name: str) -> Solver:
    """Return the solver with a name, with the settings that it stands for.

    Raises
    ------
    SolverError
        Lists the known names.

    Examples
    --------
    >>> solver_named("gaus-plain").name
    'gaus-plain'
    """
    return solver_class(name)(**SETTINGS.get(name, {}))


def solver_class(name: str) -> type[Solver]:
    """Return the class of the solver with a name; `SolverError` lists the known names.

    Examples
    --------
    >>> solver_class("list").name
    'list'
    """
    if name not in SOLVERS:
        raise SolverError(f"there is no solver {name!r}; known: {', '.join(SOLVERS)}")
    module, class_name = SOLVERS[name]
    return getattr(import_module(f"{__name__}.{module}"), class_name)  # type: ignore[no-any-return]
