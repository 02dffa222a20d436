"""Ctrl-C and SIGTERM: the first ends the search, the second the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from gaus_lab.run import Run


class Interrupts:
    """Counts interrupts, and raises `KeyboardInterrupt` for each; a stop criterion too.

    Attributes
    ----------
    count : int
    deferred : bool
        While it is true the first interrupt is only counted.
    """

    def __init__(self) -> None:
        self.count = 0
        self.deferred = False

    def reached(self, run: Run) -> bool:
        """Return whether there was an interrupt: code that is called back may have swallowed the exception."""
        return self.count > 0

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """Be the handler of a signal."""
        self.count += 1
        if self.count > 1 or not self.deferred:
            raise KeyboardInterrupt


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Handle SIGINT and SIGTERM in the ``with`` block by the `Interrupts` that it yields.

    A signal that the caller has set to be ignored stays ignored; outside the main thread nothing changes.
    """
    watcher = Interrupts()
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, watcher.handle)
    try:
        yield watcher
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
