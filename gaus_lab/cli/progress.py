"""Progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gaus_lab.run import Run

#: Seconds between two updates.
_PAUSE = 0.1


@contextmanager
def progress_of_run(seconds: float) -> Iterator[Callable[[Run], None] | None]:
    """Yield a watcher that shows seconds, steps and the best objective on standard error; None without a terminal."""
    if not _on_terminal():
        yield None
        return
    with _bar(total=seconds, bar_format="{desc} |{bar}| {n:.1f}/{total:.1f} s {postfix}") as bar:

        def watch(run: Run) -> None:
            if run.elapsed - bar.n >= _PAUSE:
                bar.n = min(run.elapsed, seconds) if seconds else run.elapsed
                best = "none yet" if run.best_objective is None else run.best_objective
                bar.set_postfix_str(f"step {run.steps}, best {best}")

        yield watch


@contextmanager
def progress_of_rows(total: int) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that shows how many runs are done, of how many; None without a terminal."""
    if not _on_terminal():
        yield None
        return
    with _bar(total=total, unit="run") as bar:
        yield lambda done, _: bar.update(done - bar.n)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _bar(**settings: Any) -> Any:
    from tqdm import tqdm

    return tqdm(file=sys.stderr, leave=False, desc="gaus-lab", **settings)
