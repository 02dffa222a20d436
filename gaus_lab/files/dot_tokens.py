"""Tokens of the DOT language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gaus_lab.checks import short
from gaus_lab.errors import GraphError

_TOKEN = re.compile(
    r"""(?P<skip>(?:[ \t\n\f\v]++|//[^\n]*+|(?<![^\n])\#[^\n]*+)++)
    |(?P<comment>/\*)
    |(?P<edge>->|--)
    |(?P<number>-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?))(?![\w])
    |(?P<word>\w+)
    |(?P<quote>")
    |(?P<html><)
    |(?P<mark>[{}\[\];,:=+])""",
    re.VERBOSE,
)
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_KEYWORDS = ("node", "edge", "graph", "digraph", "subgraph", "strict")


#: Kinds of tokens that may name something: a bare word or number, quoted text, HTML text.
NAMES = ("id", "text", "html")


class Token(NamedTuple):
    """Kind (one of `NAMES`, or ``keyword``, ``edge``, ``mark``, ``end``); text; line."""

    kind: str
    text: str
    line: int


class Tokens:
    """A look-ahead of one over the tokens of a text."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self._stream = _joined(_tokens(text, where), where)
        self.current = next(self._stream)

    @property
    def place(self) -> str:
        """File and line of the current token, for messages."""
        return f"{self.where}:{self.current.line}"

    def advance(self) -> Token:
        """Return the current token and move on."""
        token = self.current
        if token.kind != "end":
            self.current = next(self._stream)
        return token

    def take(self, text: str) -> bool:
        """Move past the current token if it is this mark or keyword; return whether it was."""
        if self.current.kind in ("mark", "keyword", "edge") and self.current.text == text:
            self.advance()
            return True
        return False

    def expect(self, text: str) -> None:
        """Move past a mark, or fail."""
        if not self.take(text):
            raise self.error(f"expected {text!r}")

    def name(self, what: str) -> Token:
        """Return the next token, which must be an identifier."""
        if self.current.kind not in NAMES:
            raise self.error(f"expected {what}")
        return self.advance()

    def error(self, what: str) -> GraphError:
        """Return the error that something else was expected at the current token."""
        found = "the end of the file" if self.current.kind == "end" else short(self.current.text)
        return GraphError(f"{self.place}: {what}, got {found}")


def _tokens(text: str, where: str) -> Iterator[Token]:
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise GraphError(f"{where}:{line}: unexpected character {text[position]!r}")
        begin, position, kind = position, match.end(), match.lastgroup
        if kind == "word" and match.group().lower() in _KEYWORDS:
            yield Token("keyword", match.group().lower(), line)
        elif kind in ("word", "number"):
            yield Token("id", match.group(), line)
        elif kind in ("mark", "edge"):
            yield Token(kind, match.group(), line)
        else:  # what may hold line breaks
            position = position if kind == "skip" else _end(text, begin, str(kind), f"{where}:{line}")
            if kind == "quote":
                yield Token(
                    "text", text[begin + 1 : position - 1].replace("\\\n", "").replace('\\"', '"'), line
                )
            elif kind == "html":
                yield Token("html", text[begin:position], line)
            line += text.count("\n", begin, position)
    yield Token("end", "", line)


def _end(text: str, begin: int, kind: str, place: str) -> int:
    """Return the position behind a comment, a quoted text or an HTML text."""
    if kind == "html":
        return _html_end(text, begin, place)
    if kind == "quote":
        quoted = _QUOTED.match(text, begin)
        if quoted is None:
            raise GraphError(f"{place}: the quoted text that begins here does not end")
        return quoted.end()
    end = text.find("*/", begin + 2)
    if end < 0:
        raise GraphError(f"{place}: the comment that begins here does not end")
    return end + 2


def _html_end(text: str, begin: int, place: str) -> int:
    """Return the position behind an HTML string, whose angle brackets must balance."""
    depth = 0
    for match in re.compile("[<>]").finditer(text, begin):
        depth += 1 if match.group() == "<" else -1
        if depth == 0:
            return match.end()
    raise GraphError(f"{place}: the HTML text that begins here does not end")


def _joined(tokens: Iterator[Token], where: str) -> Iterator[Token]:
    """Join quoted texts that ``+`` connects."""
    parts: list[Token] = []
    plus = False
    for token in tokens:
        if token.kind == "text" and (plus or not parts):
            parts.append(token)
            plus = False
            continue
        if parts and token.text == "+" and token.kind == "mark":
            plus = True
            continue
        if plus:
            raise GraphError(f"{where}:{token.line}: '+' must be followed by a quoted text")
        if parts:
            yield Token("text", "".join(p.text for p in parts), parts[0].line)
            parts = []
        if token.kind == "text":
            parts.append(token)
        else:
            yield token
