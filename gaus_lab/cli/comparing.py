"""``gaus-lab compare``."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable
from fnmatch import fnmatchcase

from gaus_lab.cli.interrupts import interrupts
from gaus_lab.cli.output import Verdict, check_writable, say
from gaus_lab.cli.parser import UsageError
from gaus_lab.cli.problems import problem_of, solver_of
from gaus_lab.cli.progress import progress_of_rows
from gaus_lab.compare import FreshProcesses, Records, compare
from gaus_lab.datasets import list_names, load_or_read
from gaus_lab.datasets.catalog import ALIASES
from gaus_lab.problem import Problem
from gaus_lab.run import MaxSeconds, Solver

#: A run is killed after `GRACE` seconds (start of the process, loading, verification) plus `PATIENCE` times its limit.
GRACE, PATIENCE = 60.0, 4.0


def run(options: Namespace) -> int:
    """Run everything, each in a process of its own; keep the file up to date; print a table."""
    check_outputs(options)
    solvers = [solver_of(name, options.formulation, options.device, strict=False) for name in options.solvers]
    with interrupts():
        problems = problems_of(options)
        records = records_of(options, problems, solvers)
    say(records.markdown() if options.markdown else records.table(times=True))
    if options.output is not None:
        say(f"written to {options.output}")
    return verdict(records, len(problems) * len(solvers) * options.seeds)


def check_outputs(options: Namespace) -> None:
    """Refuse files that cannot be written, before any run."""
    check_writable(options.output, *options.graphs)
    check_writable(options.resume, *options.graphs, *([options.output] if options.output else []))


def problems_of(options: Namespace) -> list[Problem]:
    """Return a problem for each graph that the options name."""
    return [problem_of(options, load_or_read(name)) for name in graph_names(options.graphs)]


def verdict(records: Records, wanted: int) -> int:
    """Return 0 if all runs found a schedule.

    Raises
    ------
    KeyboardInterrupt, Verdict
        Some runs are missing; some found none.
    """
    if len(records) < wanted:
        raise KeyboardInterrupt(f"interrupted after {len(records)} of {wanted} runs")
    without = sum(row.objective is None for row in records)
    if without:
        raise Verdict(f"{without} of {wanted} runs found no schedule; the status column says why")
    return 0


def records_of(options: Namespace, problems: list[Problem], solvers: list[Solver]) -> Records:
    """Run every solver on every problem with every seed as the options say, and keep the files up to date."""
    with (
        progress_of_rows(len(problems) * len(solvers) * options.seeds) as show,
        FreshProcesses(options.jobs, GRACE + PATIENCE * options.seconds) as executor,
    ):
        return compare(
            problems,
            solvers,
            range(options.seeds),
            stop=MaxSeconds(options.seconds),
            executor=executor,
            path=options.output,
            resume=options.resume,
            progress=show,
        )


def graph_names(words: Iterable[str]) -> list[str]:
    """Return the words with patterns replaced by the names that they match, each graph once.

    Examples
    --------
    >>> graph_names(["ewf*", "hal"])
    ['ewf', 'ewf_loop', 'hal']
    """
    known = [entry.name for entry in list_names() if entry.kind != "generator"]
    names: dict[str, str] = {}
    for word in words:
        found = [word]
        if any(c in word for c in "*?[") and not os.path.isfile(word):
            found = [name for name in known if fnmatchcase(name, word)]
            if not found:
                raise UsageError(f"no graph's name matches {word!r}; `gaus-lab data list` shows all names")
        for name in found:
            names.setdefault(ALIASES.get(name, name), name)
    return list(names.values())
