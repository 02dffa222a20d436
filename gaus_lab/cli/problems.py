"""From options to a problem and a solver."""

from __future__ import annotations

import dataclasses
import math
from argparse import Namespace
from fractions import Fraction
from typing import Any

from gaus_lab.analysis import asap, critical_path_length, mii, resource_work
from gaus_lab.cli.parser import UsageError
from gaus_lab.datasets import add_recurrences
from gaus_lab.errors import ProblemError
from gaus_lab.graph import Graph
from gaus_lab.problem import PROBLEMS, Problem
from gaus_lab.run import Solver
from gaus_lab.schedule import Schedule
from gaus_lab.solvers import SOLVERS, solver_class, solver_named


def problem_of(options: Namespace, graph: Graph) -> Problem:
    """Return the problem on a graph that the options describe.

    Raises
    ------
    ProblemError
        As of the problem's class.
    """
    if options.latency is not None:
        graph = graph.replace(latency=options.latency)
    settings: dict[str, Any] = {"horizon": options.horizon}
    if options.recurrences:
        graph = add_recurrences(graph, options.recurrences)
    if options.limits:
        settings["limits"] = {**graph.limits, **dict(options.limits)}
    if options.formulation == "A":
        settings["weights"] = options.weights
        settings["resource_weights"] = options.resource_weight
        settings["communication_weight"] = options.communication_weight
    if options.formulation == "C":
        settings["ii"] = options.ii
    if options.stretch is not None:
        ii = _interval(graph, settings) if options.formulation == "C" else None
        settings["horizon"] = math.floor(options.stretch * _critical_path(graph, ii))
    if options.tight is not None:
        settings["limits"] = tight_limits(graph, _interval(graph, settings), options.tight)
    return PROBLEMS[options.formulation](graph, **settings)


def tight_limits(graph: Graph, ii: int, share: Fraction | float) -> dict[str, int]:
    """Return limits that the ASAP schedule of a loop breaks: a share of the way from its peaks to even usage.

    Where the peaks of ASAP are even already the limits are met.

    Examples
    --------
    >>> tight_limits(Graph.build("abcd"), 2, 0.5), tight_limits(Graph.build("abcd"), 2, 1)
    ({'op': 3}, {'op': 2})
    """
    try:
        early = asap(graph, ii)
    except ProblemError:  # an ii below RecMII, of which the result tells
        early = asap(graph)
    peaks = Schedule(graph, early, ii=ii).peak_usage
    even = {resource: math.ceil(work / ii) for resource, work in resource_work(graph).items()}
    return {r: math.floor(peaks[r] - share * (peaks[r] - even[r])) for r in graph.resources}


def _interval(graph: Graph, settings: dict[str, Any]) -> int:
    return mii(graph, settings.get("limits")) if settings["ii"] is None else settings["ii"]


def _critical_path(graph: Graph, ii: int | None) -> int:
    try:
        return critical_path_length(graph, ii)
    except ProblemError:  # an ii below RecMII, of which the result tells
        return critical_path_length(graph)


def solver_of(name: str, formulation: str, device: str, strict: bool = True) -> Solver:
    """Return a solver with its default settings, on a device if it has a choice.

    Parameters
    ----------
    name, formulation, device : str
    strict : bool
        Whether asking a solver without tensors for ``cuda`` is an error.

    Raises
    ------
    UsageError
        The solver does not support the formulation, or has no choice of device.
    """
    solver: Any = solver_class(name)
    if formulation not in solver.formulations:
        fitting = [other for other in SOLVERS if formulation in solver_class(other).formulations]
        raise UsageError(
            f"solver {name} does not support formulation {formulation}; those that do: {', '.join(fitting)}"
        )
    made = on_device(solver_named(name), device)
    if not hasattr(made, "device") and device == "cuda" and strict:
        raise UsageError(f"solver {name} computes on the CPU only; leave --device cuda out")
    return made


def on_device(solver: Solver, device: str) -> Solver:
    """Return a solver that computes on a device, if it has a choice."""
    if hasattr(solver, "device"):
        return dataclasses.replace(solver, device=device)  # type: ignore[type-var]
    return solver
