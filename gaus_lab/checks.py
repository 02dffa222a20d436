"""Checks of single values that come from users and files, one rule a function.

Each returns the value in its exact form or raises; `what` is the beginning of the message, such as
``"edge 17 (mul3 -> add9): distance"``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from numbers import Integral, Real

from gaus_lab.errors import GausLabError, GraphError

#: Largest magnitude accepted for one number. Sums over a million of them still fit in 64 bits.
MAX_INTEGER = 2**42

_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")


def integer(value: object, what: str, minimum: int = 0, error: type[GausLabError] = GraphError) -> int:
    """Return `value` as an int.

    Accepts integers, floats without a fractional part, and text that spells an integer. Booleans, fractions, NaN,
    and anything below `minimum` or above 2**42 raise `error`.
    """
    number = value if type(value) is int else _exact(value)
    if number is None or isinstance(number, float):
        raise error(f"{what} must be an integer >= {minimum}, got {short(value)}")
    if number < minimum:
        raise error(f"{what} must be >= {minimum}, got {short(number)}")
    if number > MAX_INTEGER:
        raise error(f"{what} must be <= 2**42, got {short(number)}: choose a coarser unit")
    return number


def number(value: object, what: str, minimum: int = 0, error: type[GausLabError] = GraphError) -> int | float:
    """Return `value` as an int where it is exact, else as a finite float; same limits as `integer`."""
    result = _exact(value)
    if result is None or not minimum <= result <= MAX_INTEGER:
        raise error(f"{what} must be a finite number from {minimum} to 2**42, got {short(value)}")
    return result


def _exact(value: object) -> int | float | None:
    """Return the int (or, failing that, the finite float) that `value` spells, else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return _parse(value.strip())
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Fraction):  # exact as it stands; a large one may not fit a float
        if value.denominator == 1:
            return value.numerator
        return float(value) if abs(value) <= MAX_INTEGER else None
    if isinstance(value, Real) and math.isfinite(value):
        return int(value) if float(value).is_integer() else float(value)  # type: ignore[call-overload]
    return None


def _parse(text: str) -> int | float | None:
    if len(text) > 40:  # no number in range is longer, and int() is quadratic in the digits
        return None
    if _INTEGER.match(text):
        return int(text)
    return _exact(float(text)) if _NUMBER.match(text) else None


def short(value: object, width: int = 60, render: Callable[[object], str] = repr) -> str:
    """Return a one-line rendering of `value`, cut to `width` characters, for error messages."""
    if isinstance(value, int) and abs(value) >= 2**128:  # Python refuses to write out the very long ones
        return f"an integer of {value.bit_length()} bits"
    text = " ".join(render(value).split())
    return text if len(text) <= width else text[: width - 3] + "..."
