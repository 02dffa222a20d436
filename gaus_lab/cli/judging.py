"""``gaus-lab verify``."""

from __future__ import annotations

import warnings
from argparse import Namespace

from gaus_lab.cli.output import Verdict, say
from gaus_lab.datasets import load_or_read
from gaus_lab.errors import GausLabWarning
from gaus_lab.html import text_table
from gaus_lab.result import graph_identity, read_result
from gaus_lab.verify import verify

#: Violations that are printed; the others are counted.
MOST = 20


def run(options: Namespace) -> int:
    """Judge the starts of a result file; return 0, or raise `Verdict` on violations or another objective."""
    stored = read_result(options.result)
    problem = stored.problem_on(load_or_read(options.graph))
    schedule = stored.schedule_on(problem)
    if stored.sha256 not in (None, graph_identity(problem.graph)["sha256"]):
        warnings.warn(
            f"{options.result} was made with another graph: the operations have the same names, their properties or "
            f"edges differ; judged on {options.graph}",
            GausLabWarning,
            stacklevel=2,
        )
    if schedule is None:
        raise Verdict(f"{options.result} has no schedule; its status is {stored.status}")
    violations = verify(problem, schedule)
    objective = problem.objective(schedule)
    recorded = "none" if stored.objective is None else str(stored.objective)
    rows = [
        ("verdict", "illegal" if violations else "legal"),
        ("violations", str(len(violations))),
        ("objective recorded", recorded),
        ("objective recomputed", str(objective)),
    ]
    shown = [str(violation) for violation in violations[:MOST]]
    if len(violations) > MOST:
        shown.append(f"and {len(violations) - MOST} more")
    say("\n".join([repr(problem), text_table(rows), *shown]))
    if violations:
        raise Verdict(f"{options.result} breaks {len(violations)} constraints, the first: {violations[0]}")
    if stored.objective not in (None, objective):
        raise Verdict(f"{options.result} records objective {recorded}, its starts have {objective}")
    return 0
