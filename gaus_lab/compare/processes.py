"""`FreshProcesses`: an executor that gives each call a process of its own, and a limit after which it is killed."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from gaus_lab.errors import SolverError

T = TypeVar("T")


class ProcessFailure(Exception):
    """A call's process ended without an answer.

    Attributes
    ----------
    status : str
        ``timeout``, ``out of memory`` or ``failed``.
    """

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class FreshProcesses(Executor):
    """Runs each call in a new process, a few at a time, so that memory and crashes are the call's own.

    Parameters
    ----------
    jobs : int >= 1
        Largest number of processes at a time.
    seconds : float, optional
        Wall-clock time after which a process is killed; its future then raises `ProcessFailure`.

    Notes
    -----
    Leaving the ``with`` block, or `kill`, ends all processes that still run. Functions and arguments are pickled;
    in a script the calling code must stand under ``if __name__ == "__main__":``.
    """

    def __init__(self, jobs: int = 1, seconds: float | None = None) -> None:
        if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
            raise SolverError(f"jobs must be an integer >= 1, got {jobs!r}")
        self.seconds = seconds
        self._threads = ThreadPoolExecutor(jobs)
        self._lock = threading.Lock()
        self._running: set[SpawnProcess] = set()
        self._closed = False

    def submit(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Return the future of ``function(*args, **kwargs)``, computed in a new process."""
        return self._threads.submit(self._call, function, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls; with `cancel_futures` drop those that have not begun."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)

    def kill(self) -> None:
        """Kill all processes that run, and drop the calls that have not begun."""
        with self._lock:
            self._closed = True
            for process in self._running:
                process.kill()
        self.shutdown(wait=True, cancel_futures=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        context = multiprocessing.get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_answer, args=(sender, function, args, kwargs), daemon=True)
        with receiver, sender:
            self._start(process)
            sender.close()  # the child's end alone is open: its death ends the wait
            try:
                return self._wait(process, receiver)
            finally:
                process.kill()
                process.join()
                with self._lock:
                    self._running.discard(process)

    def _start(self, process: SpawnProcess) -> None:
        with self._lock:
            if self._closed:
                raise ProcessFailure("failed", "interrupted")
            with suppress(BrokenPipeError):  # it died before it had its arguments; the wait says so
                process.start()
            self._running.add(process)

    def _wait(self, process: SpawnProcess, receiver: Connection) -> Any:
        if not receiver.poll(self.seconds):
            raise ProcessFailure("timeout", f"killed after {self.seconds:g} s without an answer")
        try:
            error, value = receiver.recv()
        except EOFError:
            process.join()
            raise _death(process.exitcode or 0) from None
        if error:
            raise ProcessFailure(*value)
        return value


def _answer(sender: Connection, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Send ``(False, value)`` or ``(True, (status, reason))``: the body of the new process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    try:
        answer = (False, function(*args, **kwargs))
    except MemoryError:
        answer = (True, ("out of memory", "the process could not get the memory that it asked for"))
    except Exception as error:
        answer = (True, ("failed", traceback.format_exception_only(error)[-1].strip()))
    sender.send(answer)


def _death(exit_code: int) -> ProcessFailure:
    if exit_code == -signal.SIGKILL:
        return ProcessFailure(
            "out of memory", "killed by the system, as it does with a process when memory runs out"
        )
    if exit_code < 0:
        return ProcessFailure("failed", f"the process died of signal {-exit_code}")
    return ProcessFailure("failed", f"the process ended with exit status {exit_code}")


def own_peak_memory() -> float:
    """Return the most resident memory that this process has had, in 10**6 bytes."""
    # `ru_maxrss` of a new process begins at the memory of its parent, from whose image it was made. Linux tells
    # the peak of the present image too.
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) * 1024 / 1e6, 1)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e6, 1)
