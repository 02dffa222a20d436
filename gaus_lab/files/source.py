"""Bytes of a graph file: read with limits, unpacked, decoded; every failure is one clear error."""

from __future__ import annotations

import io
import os
import zlib
from os import PathLike

from gaus_lab.errors import GraphError

#: A file may unpack to no more than this; the largest known graph file needs a thousandth.
MAX_BYTES = 2**31
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
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise GraphError(f"{where}: cannot read the file: {error.strerror}; check the path") from None
    if len(data) > MAX_BYTES:
        raise GraphError(f"{where}: the file has more than {MAX_BYTES} bytes, the most that is read")
    return unpack(data, where)


def unpack(data: bytes, where: str) -> bytes:
    """Return the bytes, decompressed where they begin like gzip; several members follow one another."""
    if not data.startswith(_GZIP):
        return data
    out = io.BytesIO()
    rest = data
    while rest.startswith(_GZIP):
        member = zlib.decompressobj(wbits=31)
        view = memoryview(rest)
        try:
            for at in range(0, len(rest), _CHUNK):
                piece: bytes = view[at : at + _CHUNK].tobytes()
                while piece:
                    out.write(member.decompress(piece, _CHUNK))
                    piece = member.unconsumed_tail
                    if out.tell() > MAX_BYTES:
                        raise GraphError(f"{where}: the archive unpacks to more than {MAX_BYTES} bytes")
                if member.eof:
                    rest = member.unused_data + view[at + _CHUNK :].tobytes()
                    break
            else:
                raise GraphError(f"{where}: the gzip archive is cut off; copy or download it again")
        except zlib.error as error:
            raise GraphError(
                f"{where}: the gzip archive is damaged ({error}); copy or download it again"
            ) from None
    return out.getvalue()


def decode(data: bytes, where: str) -> str:
    """Return the text of UTF-8 bytes, without a byte order mark and with plain line ends."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise GraphError(f"{where}:1: the text is UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GraphError(
            f"{where}:{line}: byte 0x{data[error.start]:02x} is not UTF-8; save the text as UTF-8"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise GraphError(f"{where}:{line}: a zero byte: this is no text file")
    return text.replace("\r\n", "\n").replace("\r", "\n")
