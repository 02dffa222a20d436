"""Tokens of the DOT language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gaus_lab.checks import short
from gaus_lab.errors import GraphError
from gaus_lab.files.scalars import LineIndex

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
_QUOTED = re.compile(r'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
_KEYWORDS = ("node", "edge", "graph", "digraph", "subgraph", "strict")


class Token(NamedTuple):
    """Kind ``id``, ``html``, ``keyword``, ``edge``, ``mark`` or ``end``; text; line."""

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
        if self.current.kind not in ("id", "html"):
            raise self.error(f"expected {what}")
        return self.advance()

    def error(self, what: str) -> GraphError:
        """Return the error that something else was expected at the current token."""
        found = "the end of the file" if self.current.kind == "end" else short(self.current.text)
        return GraphError(f"{self.place}: {what}, got {found}")


def _tokens(text: str, where: str) -> Iterator[Token]:
    lines = LineIndex(text)
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        line = lines.line(position)
        if match is None:
            raise GraphError(f"{where}:{line}: unexpected character {text[position]!r}")
        kind = match.lastgroup
        if kind == "comment":
            end = text.find("*/", match.end())
            if end < 0:
                raise GraphError(f"{where}:{line}: the comment that begins here does not end")
            position = end + 2
            continue
        if kind == "quote":
            quoted = _QUOTED.match(text, position)
            if quoted is None:
                raise GraphError(f"{where}:{line}: the quoted text that begins here does not end")
            position = quoted.end()
            yield Token("quoted", quoted[1].replace("\\\n", "").replace('\\"', '"'), line)
            continue
        if kind == "html":
            position = _html_end(text, position, f"{where}:{line}")
            yield Token("html", text[match.start() : position], line)
            continue
        position = match.end()
        if kind == "word" and match.group().lower() in _KEYWORDS:
            yield Token("keyword", match.group().lower(), line)
        elif kind in ("word", "number"):
            yield Token("id", match.group(), line)
        elif kind != "skip":
            yield Token(str(kind), match.group(), line)
    yield Token("end", "", lines.line(len(text)))


def _html_end(text: str, begin: int, place: str) -> int:
    """Return the position behind an HTML string, whose angle brackets must balance."""
    depth = 0
    for match in re.compile("[<>]").finditer(text, begin):
        depth += 1 if match.group() == "<" else -1
        if depth == 0:
            return match.end()
    raise GraphError(f"{place}: the HTML text that begins here does not end")


def _joined(tokens: Iterator[Token], where: str) -> Iterator[Token]:
    """Join quoted texts that ``+`` connects; they are identifiers then."""
    parts: list[Token] = []
    plus = False
    for token in tokens:
        if token.kind == "quoted" and (plus or not parts):
            parts.append(token)
            plus = False
            continue
        if parts and token.text == "+" and token.kind == "mark":
            plus = True
            continue
        if plus:
            raise GraphError(f"{where}:{token.line}: '+' must be followed by a quoted text")
        if parts:
            yield Token("id", "".join(p.text for p in parts), parts[0].line)
            parts = []
        if token.kind == "quoted":
            parts.append(token)
        else:
            yield token
