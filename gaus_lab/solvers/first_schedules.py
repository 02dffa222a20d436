"""The schedules that cost next to nothing, from which a search starts."""

from __future__ import annotations

import numpy as np

from gaus_lab.analysis import alap, asap, critical_path_length
from gaus_lab.problem import Problem
from gaus_lab.run import Run
from gaus_lab.solvers.list_pass import UNLIMITED, ListPass, rank_by


def offer_first_schedules(problem: Problem, run: Run) -> None:
    """Offer ASAP, ALAP and, where there are limits, one pass of list scheduling; linear up to a logarithm."""
    graph, ii = problem.graph, problem.interval
    early = asap(graph, ii)
    run.offer(early)
    horizon = critical_path_length(graph) if problem.horizon is None else problem.horizon
    late = alap(graph, horizon, ii)
    run.offer(late)
    if problem.limits and ii is None:
        caps = np.array([problem.limits.get(r, UNLIMITED) for r in graph.resources], dtype=np.int64)
        run.offer(ListPass(graph)(rank_by(late), caps)[0])
