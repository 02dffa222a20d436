"""Bytes of a graph file: read with limits, unpacked, decoded; every failure is one clear error."""

from __future__ import annotations

import io
import os
import zlib
from os import PathLike
from typing import BinaryIO

from gaus_lab.checks import short
from gaus_lab.errors import GraphError

#: A file may hold and unpack to no more than this; a graph of a million operations needs a tenth.
MAX_BYTES = 2**28
_GZIP = b"\x1f\x8b"
_CHUNK = 2**20


def read_bytes(path: str | PathLike[str]) -> bytes:
    """Return the content of a file, unpacked if it is gzip by its first bytes (not by its name).

    Raises
    ------
    GraphError
        No such file, a folder, no permission, a damaged archive, or more than `MAX_BYTES` of content.
    """
    where = os.fspath(path)
    try:
        with open(where, "rb") as file:
            data = _limited(file, where)
    except OSError as error:
        raise GraphError(f"{where}: cannot read the file: {error.strerror}; check the path") from None
    except ValueError as error:  # a zero byte in the path
        if isinstance(error, GraphError):
            raise
        raise GraphError(f"{where!r}: cannot read the file: {error}; check the path") from None
    return unpack(data, where)


def _limited(file: BinaryIO, where: str) -> bytes:
    """Return all that a file gives; chunk by chunk, since a device gives without end and tells no size."""
    out = io.BytesIO()
    while chunk := file.read(_CHUNK):
        out.write(chunk)
        if out.tell() > MAX_BYTES:
            raise GraphError(f"{where}: the file has more than {MAX_BYTES} bytes, the most that is read")
    return out.getvalue()


def unpack(data: bytes, where: str) -> bytes:
    """Return the bytes, decompressed where they begin like gzip; several members follow one another."""
    if not data.startswith(_GZIP):
        return data
    out = io.BytesIO()
    position = 0
    while data.startswith(_GZIP, position):
        try:
            position = _unpack_member(data, position, out, where)
        except zlib.error as error:
            raise GraphError(
                f"{where}: the gzip archive is damaged ({error}); copy or download it again"
            ) from None
    if data.count(b"\0", position) < len(data) - position:  # zeros pad an archive to whole blocks
        raise GraphError(f"{where}: the gzip archive is damaged (something else follows it); copy it again")
    return out.getvalue()


def _unpack_member(data: bytes, position: int, out: io.BytesIO, where: str) -> int:
    """Append what one member of an archive holds; return the position behind it."""
    member = zlib.decompressobj(wbits=31)
    size = 2**12  # grows: what is read beyond a small member is copied once more
    while not member.eof:
        piece = data[position : position + size]
        if not piece:
            out.write(member.flush())
            if not member.eof:
                raise GraphError(f"{where}: the gzip archive is cut off; copy or download it again")
        position += len(piece)
        size = min(2 * size, _CHUNK)
        while piece and not member.eof:
            out.write(member.decompress(piece, _CHUNK))
            piece = member.unconsumed_tail
            if out.tell() > MAX_BYTES:
                raise GraphError(f"{where}: the archive unpacks to more than {MAX_BYTES} bytes")
    return position - len(member.unused_data)


def decode(data: bytes, where: str) -> str:
    """Return the text of UTF-8 bytes, without a byte order mark and with plain line ends."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise GraphError(f"{where}:1: the text is UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1  # the object lacks the byte order mark
        raise GraphError(
            f"{where}:{line}: byte 0x{error.object[error.start]:02x} is not UTF-8; save the text as UTF-8"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise GraphError(f"{where}:{line}: a zero byte: this is no text file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def encoded(text: str, where: str) -> bytes:
    """Return text as UTF-8 bytes."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        found = short(text[max(error.start - 20, 0) : error.end + 20])
        raise GraphError(f"{where}: half of a surrogate pair is no text: {found}; correct it") from None


def one_line(message: str, width: int = 500) -> str:
    """Return a message with line breaks and control characters spelled out, and the middle of a long one left out.

    Names from files may hold both; the ends of a message say where and what.
    """
    if not message.isprintable():
        message = "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
    return message if len(message) <= width else f"{message[: width - 200]} ... {message[-195:]}"
