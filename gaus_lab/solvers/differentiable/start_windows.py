"""Where each start may lie in a relaxation over time, and where its mean begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.analysis import alap, asap, critical_path_length
from gaus_lab.errors import SolverError
from gaus_lab.problem import Problem
from gaus_lab.solvers.differentiable.legal_candidates import Candidates
from gaus_lab.solvers.list_pass import UNLIMITED, ListPass, rank_by

IntArray = NDArray[np.int64]

#: Cells of usage (resources x steps) above which a time grid does not fit; choose a coarser unit of time.
MAX_CELLS = 2**26


def start_windows(problem: Problem, makespan: int | None = None) -> tuple[IntArray, IntArray]:
    """Return ASAP and ALAP within the horizon, cut to what a serial schedule needs: later never helps.

    Where iterations overlap a later slot may help, and nothing is cut.

    Parameters
    ----------
    problem : Problem
    makespan : int, steps, optional
        Only schedules up to this makespan are of interest; for problems without a horizon.
    """
    graph, ii = problem.graph, problem.interval
    horizon = min(h for h in (problem.horizon, makespan, _serial(problem)) if h is not None)
    early, late = asap(graph, ii), alap(graph, horizon, ii)
    cells = len(graph.resources) * (int((late + graph.occupancy).max(initial=0)) + 1)
    if cells > MAX_CELLS:
        raise SolverError(
            f"{len(graph.resources)} resources x {horizon} steps are too many for a relaxation over time "
            f"(at most {MAX_CELLS} cells): use a coarser unit of time or a shorter horizon"
        )
    return early, late


def _serial(problem: Problem) -> int | None:
    if problem.interval is not None:
        return None
    graph = problem.graph
    longest = np.maximum(graph.span, graph.occupancy)
    np.maximum.at(longest, graph.src, graph.lag)
    return int(longest.sum())


def list_schedule(problem: Problem) -> IntArray:
    """Return one pass of list scheduling under the limits, in the order of ALAP; it may exceed the horizon."""
    graph, limits = problem.graph, problem.limits or {}
    caps = np.array([limits.get(r, UNLIMITED) for r in graph.resources], dtype=np.int64)
    late = alap(graph, critical_path_length(graph))
    return ListPass(graph)(rank_by(late), caps)[0]


def first_means(
    problem: Problem, where: str, early: IntArray, late: IntArray, candidates: Candidates
) -> NDArray[Any]:
    """Return the means of the first round, shape (n_ops,), steps.

    Parameters
    ----------
    problem : Problem
    where : ``"middle"``, ``"asap"``, ``"alap"`` or ``"list"``
        ``"list"`` is the best of the schedules that the candidates make from ASAP: delayed until peaks or limits
        are met, which is list scheduling by ALAP; of a makespan problem a pass of list scheduling.
    early, late : int arrays of shape (n_ops,), steps
    candidates : Candidates
    """
    if where == "asap":
        return early
    if where == "alap":
        return late
    if where == "middle":
        return (early + late) / 2
    if problem.formulation == "R":
        return np.clip(list_schedule(problem), early, late)
    return _best(candidates(early), problem, early)


def _best(schedules: Iterator[IntArray], problem: Problem, otherwise: IntArray) -> IntArray:
    best, least = otherwise, None
    for start in schedules:
        schedule = problem.schedule(start)
        if problem.is_legal(schedule) and (least is None or problem.objective(schedule) < least):
            best, least = start, problem.objective(schedule)
    return best
