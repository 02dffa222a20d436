"""Files that are complete or absent: written beside their place, then renamed."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from os import PathLike

from gaus_lab.errors import GausLabError


def write_atomically(path: str | PathLike[str], data: bytes | str) -> None:
    """Write a file so that its final name never holds a part of it, whatever interrupts the writing.

    A link is followed, and the permissions of a file that is replaced are kept.

    Parameters
    ----------
    path : path
    data : bytes, or text written as UTF-8

    Raises
    ------
    GausLabError
        The folder does not exist or may not be written, the path is a folder or a write-protected file, the disk
        is full, or the text holds half of a surrogate pair.
    """
    where = os.fspath(path)
    try:
        target = os.path.realpath(where)
        content = data.encode("utf-8") if isinstance(data, str) else data
        if not where or os.path.isdir(target):
            raise GausLabError(
                f"{where or repr(where)}: cannot write the file: it is a folder; give a file name"
            )
        if os.path.exists(target) and not os.path.isfile(target):
            _write_through(target, content)
        elif os.path.exists(target) and not os.access(target, os.W_OK):
            raise GausLabError(f"{where}: cannot write the file: it is write-protected; choose another name")
        else:
            _replace(target, content)
    except OSError as error:
        raise GausLabError(
            f"{where}: cannot write the file: {error.strerror}; nothing was written there"
        ) from None
    except ValueError as error:
        if isinstance(error, GausLabError):
            raise
        raise GausLabError(f"{where!r}: cannot write the file: {error}") from None


def _write_through(target: str, content: bytes) -> None:
    """Write to a device or pipe, which nothing can be renamed onto."""
    with open(target, "wb") as file:
        file.write(content)


def _replace(target: str, content: bytes) -> None:
    """Write a file of another name in the same folder, then give it the target's name."""
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:50]}.{secrets.token_hex(8)}.part")
    try:
        with open(temporary, "xb") as file:
            with suppress(FileNotFoundError):  # a new file has the usual permissions
                os.chmod(temporary, os.stat(target).st_mode & 0o777)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:  # an interrupt, too, leaves nothing behind
        with suppress(OSError):
            os.unlink(temporary)
        raise
