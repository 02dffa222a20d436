"""``gaus-lab min-ii``."""

from __future__ import annotations

from argparse import Namespace

from gaus_lab.cli.interrupts import Interrupts, interrupts
from gaus_lab.cli.output import Verdict, check_writable, say
from gaus_lab.cli.problems import solver_of
from gaus_lab.datasets import load_or_read
from gaus_lab.min_ii import MinII, min_ii
from gaus_lab.run import MaxSeconds


def run(options: Namespace) -> int:
    """Search, write the result file, print the table; return 0, or raise `Verdict` if no II was found."""
    check_writable(options.output, options.graph)
    with interrupts() as signals:
        found = _search(options, signals)
        signals.deferred = True  # from here on a first interrupt finds all but done
        try:
            if options.output is not None and found.result is not None:
                found.result.save(options.output)
        finally:
            say(repr(found))
    if found.result is None:
        last = found.tried[-1] if found.tried else None
        raise Verdict(f"no II found: {'none was tried' if last is None else f'II {last.ii}: {last.reason}'}")
    if options.output is not None:
        say(f"written to {options.output}")
    return 0


def _search(options: Namespace, signals: Interrupts) -> MinII:
    try:
        graph = load_or_read(options.graph)
        limits = {**graph.limits, **dict(options.limits)}
        signals.deferred = True  # half an import is worse than a search that ends at its first schedule
        solver = solver_of(options.solver, "C", "auto")
        signals.deferred = False
        stop = (MaxSeconds(options.seconds), signals)
        return min_ii(graph, limits, solver, seed=options.seed, stop=stop, max_ii=options.max_ii)
    except KeyboardInterrupt:
        if signals.count > 1:
            raise
        raise Verdict("no II found: interrupted before the search began") from None
