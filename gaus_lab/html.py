"""Tables as text and as escaped HTML from the same rows; the same input always gives the same output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_STYLE = "text-align:left;padding:2px 12px 2px 0"


def text_table(
    rows: Iterable[Sequence[object]], header: Sequence[object] = (), right: Sequence[int] = ()
) -> str:
    """Return the rows as aligned columns of plain text; the columns in `right` are aligned to the right.

    Examples
    --------
    >>> print(text_table([("a", 5), ("bc", 12)], header=("op", "start"), right=[1]))
    op  start
    a       5
    bc     12
    """
    lines = [[str(cell) for cell in row] for row in ([header] if header else []) + list(rows)]
    if not lines:
        return ""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if k in right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def html_table(rows: Iterable[Sequence[object]], header: Sequence[object] = (), caption: str = "") -> str:
    """Return the rows as an HTML table; every cell is escaped.

    Examples
    --------
    >>> "&lt;b&gt;" in html_table([("<b>", 1)])
    True
    """
    head = f"<caption style='{_STYLE}'>{escape(caption)}</caption>" if caption else ""
    if header:
        head += (
            "<tr>" + "".join(f"<th style='{_STYLE}'>{escape(str(cell))}</th>" for cell in header) + "</tr>"
        )
    body = "".join(
        "<tr>" + "".join(f"<td style='{_STYLE}'>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table>{head}{body}</table>"
