"""The binary AND section of AIGER: pairs of differences, seven bits a byte."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gaus_lab.errors import GraphError

#: Longest code of a difference below 2**42, bytes.
_MAX_CODE = 6


def binary_ands(
    data: bytes, begin: int, count: int, first_literal: int, where: str
) -> tuple[NDArray[np.int64], int]:
    """Return the ANDs as rows (lhs, rhs0, rhs1), and the position behind the section.

    AND k has ``lhs = first_literal + 2 k`` and stores ``lhs - rhs0`` and ``rhs0 - rhs1`` as little-endian groups of
    seven bits, all but the last marked by the high bit. Decoded in array operations, one for each byte of the
    longest code.
    """
    stream = np.frombuffer(data, dtype=np.uint8)[begin:]
    ends = np.flatnonzero(stream < 128)[: 2 * count]
    if len(ends) < 2 * count:
        raise GraphError(
            f"{where}: the AND section at byte {begin} is cut off: expected {count} ANDs, got {len(ends) // 2}"
        )
    starts = np.concatenate([[0], ends[:-1] + 1])[: len(ends)]
    lengths = ends - starts + 1
    if lengths.max(initial=0) > _MAX_CODE:
        bad = int(np.argmax(lengths > _MAX_CODE))
        raise GraphError(
            f"{where}: a number of {lengths[bad]} bytes at byte {begin + starts[bad]}; the file is damaged"
        )
    deltas = np.zeros(len(ends), dtype=np.int64)
    for k in range(int(lengths.max(initial=0))):
        more = lengths > k
        deltas[more] |= (stream[starts[more] + k] & 127).astype(np.int64) << (7 * k)
    return _rows(deltas, starts + begin, first_literal, where), begin + (int(ends[-1]) + 1 if count else 0)


def _rows(
    deltas: NDArray[np.int64], positions: NDArray[np.int64], first_literal: int, where: str
) -> NDArray[np.int64]:
    left = first_literal + 2 * np.arange(len(deltas) // 2)
    right0 = left - deltas[0::2]
    right1 = right0 - deltas[1::2]
    bad = np.flatnonzero((deltas[0::2] == 0) | (right0 < 0) | (right1 < 0))
    if len(bad):
        k = int(bad[0])
        raise GraphError(
            f"{where}: AND {k} (literal {left[k]}) at byte {positions[2 * k]} has fan-ins {right0[k]} and {right1[k]}; "
            "they must be smaller than its own literal, and >= 0"
        )
    return np.column_stack([left, right0, right1])
