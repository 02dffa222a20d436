"""Foreign solvers: loading them whole or not at all, and running them so that Ctrl-C ends them at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import Any

from gaus_lab.errors import SolverError
from gaus_lab.run import Run

#: Seconds between two looks at the stop criteria.
_TICK = 0.02


def in_background(work: Callable[[], None], cancel: Callable[[], None], run: Run) -> None:
    """Do some work in a thread, and cancel it when a stop criterion is reached or an interrupt (Ctrl-C) comes.

    Compiled code that runs in the main thread would keep Python from seeing the interrupt.

    Parameters
    ----------
    work : callable
        Its exception, if it raises one, is raised here.
    cancel : callable
        Asks `work` to end soon; called again and again until it has.
    run : Run

    Raises
    ------
    KeyboardInterrupt
        After the work has ended.
    """
    failure: list[BaseException] = []

    def body() -> None:
        try:
            work()
        except BaseException as error:  # handed to the caller's thread
            failure.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_TICK)
            if thread.is_alive() and run.stopped:
                cancel()
    except KeyboardInterrupt:
        while thread.is_alive():
            cancel()
            thread.join(_TICK)
        raise
    if failure:
        raise failure[0]


def load_package(module: str, solver: str) -> Any:
    """Return a module of an optional package; an interrupt (Ctrl-C) meanwhile is raised when it is loaded.

    Compiled modules that are interrupted while they load call that a failed import, or abort the process.

    Raises
    ------
    SolverError
        The package is not installed.
    """
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)

    in_main = threading.current_thread() is threading.main_thread()  # elsewhere there are no handlers
    before = signal.signal(signal.SIGINT, note) if in_main else None
    try:
        loaded = import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise SolverError(
            f"{solver} needs the package {package}; install it with: pip install 'gaus-lab[exact]'"
        ) from None
    finally:
        if in_main:
            signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    if noted:
        raise KeyboardInterrupt
    return loaded
