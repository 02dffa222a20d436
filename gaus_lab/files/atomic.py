"""Files that are complete or absent: written beside their place, then renamed."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from os import PathLike

from gaus_lab.errors import GausLabError


def write_atomically(path: str | PathLike[str], data: bytes | str) -> None:
    """Write a file so that its final name never holds a part of it, whatever interrupts the writing.

    Parameters
    ----------
    path : path
    data : bytes, or text written as UTF-8

    Raises
    ------
    GausLabError
        The folder does not exist or may not be written, the path is a folder, or the disk is full.
    """
    target = os.fspath(path)
    if os.path.isdir(target):
        raise GausLabError(f"{target}: cannot write the file: it is a folder; give a file name")
    content = data.encode("utf-8") if isinstance(data, str) else data
    if os.path.exists(target) and not os.path.isfile(target):
        _write_through(target, content)
        return
    folder, name = os.path.split(os.path.realpath(target))
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{name[:50]}.", suffix=".part", dir=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise GausLabError(
            f"{target}: cannot write the file: {error.strerror}; nothing was written there"
        ) from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def _write_through(target: str, content: bytes) -> None:
    """Write to a device or pipe, which cannot be renamed onto."""
    try:
        with open(target, "wb") as file:
            file.write(content)
    except OSError as error:
        raise GausLabError(f"{target}: cannot write the file: {error.strerror}") from None


def _mode(target: str) -> int:
    """Return the permissions of the file that is replaced, else the usual ones of a new file."""
    try:
        return os.stat(target).st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
