"""The command line with two solvers that take their time; with ``--slow-write`` files take theirs, too.

A test runs this as a script, waits for a word on standard error, and then interrupts or kills it.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import ClassVar

from gaus_lab import cli, result
from gaus_lab.analysis import asap
from gaus_lab.problem import Problem
from gaus_lab.run import Run
from gaus_lab.solvers import SOLVERS


@dataclass(frozen=True)
class Slow:
    """Offers ASAP, and then searches until it is stopped."""

    name: ClassVar[str] = "slow"
    formulations: ClassVar[frozenset[str]] = frozenset("ABCR")

    def run(self, problem: Problem, run: Run) -> None:
        run.offer(asap(problem.graph, problem.interval))
        say("searching")
        while not any(
            criterion.reached(run) for criterion in run.stop
        ):  # a schedule proven optimal does not end it
            time.sleep(0.01)
            run.step()


@dataclass(frozen=True)
class Barren:
    """Searches and finds nothing."""

    name: ClassVar[str] = "barren"
    formulations: ClassVar[frozenset[str]] = frozenset("ABCR")

    def run(self, problem: Problem, run: Run) -> None:
        say("searching")
        time.sleep(60)


def say(word: str) -> None:
    print(word, file=sys.stderr, flush=True)


def write_slowly(path: str, data: str) -> None:
    say("writing")
    time.sleep(1)
    write_atomically(path, data)


write_atomically = result.write_atomically
# Only as a script (or its child): a registry with a solver that never ends would hang every test that walks through it.
if __name__ in ("__main__", "__mp_main__"):
    SOLVERS.update(slow=("patient", "Slow"), barren=("patient", "Barren"))
    sys.modules["gaus_lab.solvers.patient"] = sys.modules[__name__]

if __name__ == "__main__":
    if sys.argv[1] == "--slow-write":
        del sys.argv[1]
        result.write_atomically = write_slowly
    sys.exit(cli.main())
