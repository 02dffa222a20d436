"""What the command line prints, and where it may write."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TextIO

from gaus_lab.errors import GausLabError


class Verdict(Exception):
    """The command ran, and its answer is no: exit status 1."""


def open_streams() -> None:
    """Let standard output take any text: what its encoding lacks is written as an escape."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Print lines to standard output.

    A reader that has gone away, such as ``head``, is no error: the rest is dropped.

    Raises
    ------
    GausLabError
        Standard output cannot be written, such as on a full disk.
    """
    try:
        print(text, flush=True)
    except BrokenPipeError:
        _drop(sys.stdout)
    except OSError as error:
        _drop(sys.stdout)
        raise GausLabError(f"standard output cannot be written: {error.strerror}") from None


def complain(kind: str, text: str) -> None:
    """Print ``gaus-lab: error: ...`` or ``gaus-lab: warning: ...``, one line, to standard error."""
    with suppress(OSError, ValueError):  # nobody is left to tell
        print(f"gaus-lab: {kind}: {one_line(text)}", file=sys.stderr, flush=True)


def one_line(text: str) -> str:
    r"""Return a text with line breaks and control characters as escapes.

    Examples
    --------
    >>> print(one_line("two" + chr(10) + "lines"))
    two\nlines
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def check_writable(path: str | None, *inputs: str) -> None:
    """Raise `GausLabError` if a file cannot be written, or is one of the inputs; better now than after the work."""
    reason = None if path is None else _obstacle(path, inputs)
    if reason is not None:
        raise GausLabError(f"{path}: cannot write the file: {reason}")


def _obstacle(path: str, inputs: Iterable[str]) -> str | None:
    """Return what keeps a file from being written, None if nothing is known to."""
    if not path or "\0" in path:
        return "that is no file name"
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path) or path.endswith(os.sep):
        return "it is a folder; give a file name"
    if not os.path.isdir(folder):
        return f"there is no folder {folder}; make it first"
    try:
        os.lstat(path)
    except FileNotFoundError:
        pass
    except OSError as error:  # such as a name that is too long
        return str(error.strerror)
    exists, device = os.path.exists(path), os.path.exists(path) and not os.path.isfile(path)
    if exists and not os.access(path, os.W_OK):
        return "no permission; choose another place"
    if not device and not os.access(folder, os.W_OK | os.X_OK):
        return f"no permission in folder {folder}; choose another place"
    if any(_same(path, other) for other in inputs):
        return "it is the input; choose another name"
    return None


def _same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):  # one of them is no file
        return False


def _drop(stream: TextIO) -> None:
    """Send what is left in a stream's buffer nowhere: the interpreter would try once more at its end."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
