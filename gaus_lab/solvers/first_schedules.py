"""The schedules that cost next to nothing, from which a search starts."""

from __future__ import annotations

import numpy as np

from gaus_lab.analysis import alap, asap, critical_path_length
from gaus_lab.problem import ModuloProblem, Problem
from gaus_lab.run import Run
from gaus_lab.solvers.list_pass import UNLIMITED, ListPass, rank_by
from gaus_lab.solvers.modulo_placement import ModuloPlacement

#: Attempts at a first schedule of a loop: forwards and backwards, by height and by mobility.
MODULO_ATTEMPTS = 4


def offer_first_schedules(problem: Problem, run: Run) -> None:
    """Offer ASAP, ALAP and, where there are limits, one pass of list scheduling; linear up to a logarithm.

    Of a loop that neither of both schedules, some attempts of iterative modulo scheduling.
    """
    graph, ii = problem.graph, problem.interval
    early = asap(graph, ii)
    run.offer(early)
    horizon = critical_path_length(graph) if problem.horizon is None else problem.horizon
    late = alap(graph, horizon, ii)
    run.offer(late)
    if problem.limits and ii is None:
        caps = np.array([problem.limits.get(r, UNLIMITED) for r in graph.resources], dtype=np.int64)
        run.offer(ListPass(graph)(rank_by(late), caps)[0])
    elif isinstance(problem, ModuloProblem) and run.best_start is None:
        _offer_placed(problem, run)


def _offer_placed(problem: ModuloProblem, run: Run) -> None:
    """Offer the first schedule that an attempt finds; an exact model of thousands of slots may not find one itself."""
    placement = ModuloPlacement(problem, np.random.default_rng(0))
    if placement.infeasible is not None or not placement.table_fits:
        return
    for attempt in range(MODULO_ATTEMPTS):
        start = placement.attempt(attempt)
        if start is not None and run.offer(start):
            return
