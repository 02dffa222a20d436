"""``gaus-lab ablate``."""

from __future__ import annotations

import os
from argparse import Namespace

from gaus_lab.cli.comparing import check_outputs, problems_of, records_of, verdict
from gaus_lab.cli.interrupts import interrupts
from gaus_lab.cli.output import check_writable, say
from gaus_lab.cli.parser import UsageError
from gaus_lab.cli.problems import on_device
from gaus_lab.compare import Records, variants
from gaus_lab.compare.ablation import SWEEPS
from gaus_lab.files.atomic import write_atomically
from gaus_lab.html import text_table
from gaus_lab.views.info import spread_cells, spread_header, spreads

#: What a figure can be, by the end of its name.
FORMATS = (".png", ".pdf", ".svg")


def run(options: Namespace) -> int:
    """Run the variants with all seeds; print mean and spread; draw the figure."""
    check_outputs(options)
    if options.figure is not None:
        check_writable(options.figure, *options.graphs)
        if os.path.splitext(options.figure)[1].lower() not in FORMATS:
            raise UsageError(f"{options.figure}: a figure must end in {', '.join(FORMATS)}")
    what = options.what.replace("-", "_")
    with interrupts():
        solvers = [on_device(solver, options.device) for solver in variants(what, options.formulation)]
        problems = problems_of(options)
        records = records_of(options, problems, solvers)
    say(text_table(spread_cells(spreads(records.rows)), spread_header(), right=range(2, 9)))
    if options.output is not None:
        say(f"written to {options.output}")
    if options.figure is not None:
        _draw(records, what, options.figure)
        say(f"drawn to {options.figure}")
    return verdict(records, len(problems) * len(solvers) * options.seeds)


def _draw(records: Records, what: str, path: str) -> None:
    import io

    from gaus_lab.views.plots import plot_relative_cost, plot_sensitivity

    picture = plot_sensitivity(records.rows, what) if what in SWEEPS else plot_relative_cost(records.rows)
    data = io.BytesIO()
    picture.savefig(data, format=os.path.splitext(path)[1][1:].lower(), dpi=150)
    write_atomically(path, data.getvalue())
