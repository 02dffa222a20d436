"""The text parts of AIGER files: lines of literals, and the symbol table."""

from __future__ import annotations

from collections.abc import Iterator

from gaus_lab.checks import short
from gaus_lab.errors import GraphError

_MAX_DIGITS = 12


class Lines:
    """The lines of a file that may turn binary: a position in the bytes, and the number of the next line."""

    def __init__(self, data: bytes, where: str) -> None:
        self.data, self.where = data, where
        self.position, self.number_of_line = 0, 1
        self.largest = 10**_MAX_DIGITS  # literal, once the header is read

    @property
    def at_end(self) -> bool:
        """Whether nothing is left to read."""
        return self.position >= len(self.data)

    def next_line(self, what: str, limit: int = 10_000) -> bytes:
        """Return the next line without its end; `GraphError` at the end of the file or beyond `limit` bytes."""
        if self.at_end:
            raise GraphError(
                f"{self.where}:{self.number_of_line}: the file ends where {what} should stand; it is cut off"
            )
        end = self.data.find(b"\n", self.position, self.position + limit)
        if end < 0 and len(self.data) - self.position > limit:
            raise GraphError(f"{self.where}:{self.number_of_line}: {what} is longer than {limit} bytes")
        end = len(self.data) if end < 0 else end
        line = self.data[self.position : end]
        self.position = end + 1
        self.number_of_line += 1
        return line.removesuffix(b"\r")

    def next_words(self, what: str, limit: int = 1_000) -> list[str]:
        """Return the words of the next line."""
        return self.next_line(what, limit).decode("utf-8", "replace").split()

    def literals(
        self, count: int, least: int, what: str, most: int, most_value: int | None = None
    ) -> Iterator[list[int]]:
        """Yield `count` lines of `least` to `most` numbers, each at most `most_value` or else `largest`."""
        bound = self.largest if most_value is None else most_value
        for k in range(count):
            words = self.next_words(f"{what} {k} of {count}")
            if not least <= len(words) <= most:
                raise self._error(
                    f"{what} {k} of {count} needs {least} numbers, got {short(' '.join(words), render=str)}"
                )
            values = [self.number(word, what) for word in words]
            if max(values) > bound:
                raise self._error(
                    f"{what} {k} of {count} is {max(values)}, must be <= {bound}, twice M of the header and 1"
                )
            yield values

    def number(self, word: str, what: str) -> int:
        """Return the number that a word of the last line spells."""
        if not (word.isascii() and word.isdigit() and len(word) <= _MAX_DIGITS):
            raise self._error(
                f"{what} must be an integer >= 0 of at most {_MAX_DIGITS} digits, got {short(word)}"
            )
        return int(word)

    def _error(self, what: str) -> GraphError:
        return GraphError(f"{self.where}:{self.number_of_line - 1}: {what}")


def read_symbols(lines: Lines) -> dict[str, dict[int, str]]:
    """Return the symbols by kind (``i``, ``l``, ``o``, ``b``, ``c``, ``j``, ``f``) and position; stop at a comment."""
    symbols: dict[str, dict[int, str]] = {}
    while not lines.at_end:
        line = lines.next_line("a symbol", limit=2**20)
        if line.strip() == b"c":
            break
        if not line.strip() and lines.at_end:
            break
        head, _, text = line.partition(b" ")
        kind, position = head[:1].decode("latin-1"), head[1:]
        if kind not in "ilobcjf" or not kind or not position.isdigit() or len(position) > _MAX_DIGITS:
            shown = short(line[:80].decode("utf-8", "replace"))
            place = f"{lines.where}:{lines.number_of_line - 1}"
            raise GraphError(
                f"{place}: expected a symbol such as 'i0 name' or the comment mark 'c', got {shown}"
            )
        symbols.setdefault(kind, {})[int(position)] = text.decode("utf-8", "replace")
    return symbols
