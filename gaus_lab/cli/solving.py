"""``gaus-lab solve``."""

from __future__ import annotations

from argparse import Namespace

from gaus_lab.cli.interrupts import Interrupts, interrupts
from gaus_lab.cli.output import Verdict, check_writable, say
from gaus_lab.cli.problems import problem_of, solver_of
from gaus_lab.cli.progress import progress_of_run
from gaus_lab.datasets import load_or_read
from gaus_lab.result import Result
from gaus_lab.run import MaxSeconds
from gaus_lab.solve import solve


def run(options: Namespace) -> int:
    """Solve, write the result file, print the table; return 0, or raise `Verdict` without a schedule."""
    check_writable(options.output, options.graph)
    with interrupts() as signals:
        result = _result(options, signals)
        signals.deferred = True  # from here on a first interrupt finds all but done
        try:
            if options.output is not None:
                result.save(options.output, options.latency)
        finally:
            say(repr(result))
    if options.output is not None:
        say(f"written to {options.output}")
    if result.schedule is None:
        raise Verdict(f"no schedule: {result.reason}")
    return 0


def _result(options: Namespace, signals: Interrupts) -> Result:
    try:
        problem = problem_of(options, load_or_read(options.graph))
        signals.deferred = True  # half an import is worse than a search that ends at its first schedule
        solver = solver_of(options.solver, options.formulation, options.device)
        signals.deferred = False
        with progress_of_run(options.seconds) as watch:
            return solve(
                problem, solver, seed=options.seed, stop=(MaxSeconds(options.seconds), signals), watch=watch
            )
    except KeyboardInterrupt:
        if signals.count > 1:
            raise
        raise Verdict("no schedule: interrupted before the search began") from None
