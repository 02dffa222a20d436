"""Small conversions that several text formats share."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from typing import Any

from gaus_lab.errors import GraphError

_INT = re.compile(r"-?(0|[1-9][0-9]{0,299})\Z")
_FLOAT = re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][+-]?[0-9]{1,4})?\Z")
_DECIMAL = re.compile(r"-?([0-9]+\.[0-9]*|\.[0-9]+)\Z")
#: Characters; the smallest float has 326.
_MAX_DECIMAL = 400

#: Properties that a file may give, by name.
OP_KEYS = ("type", "latency", "occupancy", "weight", "bits")
EDGE_KEYS = ("distance", "latency", "cost")


def typed(text: str) -> Any:
    """Return the int that `text` is the usual spelling of, else the text: ``"7"`` is 7, ``"007"`` stays."""
    return int(text) if _INT.match(text) else text


def numeral(word: str) -> int | float | str:
    """Return the number that a word spells without an exponent, else the word: ``0.50`` is 0.5, ``007`` stays."""
    if len(word) <= _MAX_DECIMAL and _DECIMAL.match(word):
        return float(word)
    return typed(word)  # type: ignore[no-any-return]


def scalar(word: str) -> int | float | str:
    """Return the int or float that a bare word spells, else the word."""
    if _INT.match(word):
        return int(word)
    if len(word) <= 40 and _FLOAT.match(word):
        return float(word)
    return word


class LineIndex:
    """Line numbers of places in a text, in O(log n) each."""

    def __init__(self, text: str) -> None:
        self._ends = array("q", (m.start() for m in re.finditer("\n", text)))

    def line(self, position: int) -> int:
        """Return the number of the line that holds a position; lines count from 1."""
        return bisect_right(self._ends, position - 1) + 1


def undirected(where: str, what: str, remedy: str) -> GraphError:
    """Return the error for a graph without directions."""
    return GraphError(f"{where}: the graph is undirected ({what}), dependences have a direction; {remedy}")


def keywords(record: dict[str, Any], known: tuple[str, ...], reserved: tuple[str, ...]) -> dict[str, Any]:
    """Return a record as keywords for the graph builder; keys that would name its parameters get a trailing ``_``.

    A known key of which the file says nothing (None, empty text) is left out.
    """
    result = {}
    for key, value in record.items():
        if key in known and (value is None or value == ""):
            continue
        result[f"{key}_" if key in reserved else key] = value
    return result
