"""``gaus-lab data``."""

from __future__ import annotations

from argparse import Namespace

from gaus_lab.cli.output import say
from gaus_lab.cli.parser import UsageError, nearest
from gaus_lab.datasets import data_path, fetch, list_names
from gaus_lab.html import text_table


def run(options: Namespace) -> int:
    """Print names, the place of a fetched file, or the folder of downloads; return 0."""
    if options.action != "fetch" and options.name is not None:
        raise UsageError(f"data {options.action} takes no name, got {options.name!r}")
    if options.action != "list" and options.kind is not None:
        raise UsageError("--kind is for data list")
    if options.action == "list":
        say(_table(options.kind))
    elif options.action == "path":
        say(str(data_path()))
    elif options.name is None:
        raise UsageError("data fetch needs the name of a graph; `gaus-lab data list` shows all names")
    else:
        say(str(fetch(options.name)))
    return 0


def _table(kind: str | None) -> str:
    entries = list_names()
    kinds = list(dict.fromkeys(entry.kind for entry in entries))
    if kind is not None and kind not in kinds:
        raise UsageError(f"there is no kind {kind!r}; {nearest(kind, kinds)}")
    rows = [
        (entry.name, entry.kind, entry.where, "yes" if entry.available else "no")
        for entry in entries
        if kind in (None, entry.kind)
    ]
    return text_table(rows, ("name", "kind", "where", "here"))
