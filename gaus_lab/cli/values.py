"""The values of options: text from the command line to checked values."""

from __future__ import annotations

import argparse
import difflib
import math
import re
from collections.abc import Callable, Iterable
from fractions import Fraction

from gaus_lab.checks import MAX_INTEGER, integer, short
from gaus_lab.errors import GausLabError
from gaus_lab.solvers import SOLVERS


class UsageError(GausLabError):
    """An option is unknown, malformed, or does not go with another."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the words most like one, or all.

    Examples
    --------
    >>> nearest("slove", ["solve", "info"])
    'did you mean solve?'
    """
    known = list(known)
    close = difflib.get_close_matches(word, known, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"


def integer_from(minimum: int) -> Callable[[str], int]:
    """Return a converter to an integer >= `minimum`."""

    def convert(text: str) -> int:
        try:
            return integer(text, "the value", minimum, UsageError)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def one_of(what: str, known: Iterable[str]) -> Callable[[str], str]:
    """Return a converter that lets known words through."""

    def convert(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"there is no {what} {short(text)}; {nearest(text, known)}")
        return text

    return convert


def solver_list(text: str) -> list[str]:
    """Return the names of solvers that are separated by commas."""
    names = [one_of("solver", SOLVERS)(name.strip()) for name in text.split(",")]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise argparse.ArgumentTypeError(f"solver {twice} is there twice")
    return names


def _decimal(text: str, what: str) -> Fraction:
    """Return a decimal number exactly: 1.1 as 11/10."""
    if len(text) > 40 or not re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)", text):
        raise argparse.ArgumentTypeError(f"{what}, got {short(text)}")
    return Fraction(text)


def stretch(text: str) -> Fraction:
    """Return a decimal number >= 1 exactly."""
    rule = "the value must be a decimal number >= 1, such as 1.5"
    value = _decimal(text, rule)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{rule}, got {text}: nothing fits in less than the critical path")
    return value


def seconds(text: str) -> float:
    """Return a number of seconds >= 0."""
    rule = "the value must be a number of seconds >= 0"
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MAX_INTEGER:
        raise argparse.ArgumentTypeError(f"{rule}, got {short(text)}")
    return value


def share(text: str) -> Fraction:
    """Return a decimal number from 0 to 1 exactly."""
    rule = "the value must be a decimal number from 0 to 1, such as 0.5"
    value = _decimal(text, rule)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{rule}, got {short(text)}")
    return value


def limit(text: str) -> tuple[str, int]:
    """Return type and units of ``TYPE=N``."""
    name, equals, units = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"the value must be TYPE=N, such as MUL=2, got {short(text)}")
    return name, integer_from(0)(units)
