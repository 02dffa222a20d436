"""`Picture`, the figure that all plots return. This module alone imports matplotlib when it is loaded."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure that shows itself in a notebook without `pyplot`, whose list of open figures would keep it alive."""

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        self.savefig(data, format="png", dpi=110)
        return data.getvalue()
