"""`LinearRows`: a mixed-integer linear program under construction, in arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

#: In place of a column: the numbers 0 and 1.
ZERO, ONE = -2, -1


class LinearRows:
    """Columns with bounds, and rows ``lower <= sum of factor * column <= upper``.

    Terms are added by row and column in any order; where a column is `ZERO` or `ONE`, that number takes its place.
    """

    def __init__(self) -> None:
        self._columns: list[tuple[FloatArray, FloatArray, NDArray[np.bool_]]] = []
        self._terms: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._rows: list[tuple[FloatArray, FloatArray]] = []
        self._costs: list[tuple[IntArray, FloatArray]] = []
        self.n_columns = self.n_rows = 0
        self.offset = 0.0

    def columns(self, lower: Any, upper: Any, integer: bool = True) -> IntArray:
        """Add columns, and return their indices, as many as the longer of the bounds has."""
        low, high = np.broadcast_arrays(
            np.atleast_1d(lower).astype(float), np.atleast_1d(upper).astype(float)
        )
        self._columns.append((low, high, np.full(len(low), integer)))
        self.n_columns += len(low)
        return np.arange(self.n_columns - len(low), self.n_columns)

    def rows(self, count: int, lower: Any = -np.inf, upper: Any = np.inf) -> IntArray:
        """Add rows without terms, and return their indices."""
        low, high = (np.broadcast_to(np.asarray(b, dtype=float), (count,)).copy() for b in (lower, upper))
        self._rows.append((low, high))
        self.n_rows += count
        return np.arange(self.n_rows - count, self.n_rows)

    def add(self, row: Any, column: Any, factor: Any) -> None:
        """Add terms; the three broadcast."""
        rows, columns, factors = np.broadcast_arrays(row, column, np.asarray(factor, dtype=float))
        self._terms.append((rows.ravel(), columns.ravel(), factors.ravel()))

    def cost(self, column: Any, factor: Any) -> None:
        """Add terms to what is minimised."""
        columns, factors = np.broadcast_arrays(column, np.asarray(factor, dtype=float))
        self._costs.append((columns.ravel(), factors.ravel()))

    def matrix(self) -> tuple[Any, FloatArray, FloatArray]:
        """Return the matrix by rows (scipy CSR), and the lower and upper sides with all constants moved there."""
        from scipy.sparse import coo_array

        row, column, factor = (np.concatenate(part) for part in zip(*self._terms, strict=True))
        low, high = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        constant = np.bincount(row[column == ONE], factor[column == ONE], self.n_rows)
        keep = column >= 0
        matrix = coo_array(
            (factor[keep], (row[keep], column[keep])), shape=(self.n_rows, self.n_columns)
        ).tocsr()
        return matrix, low - constant, high - constant

    def bounds(self) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Return lower and upper bounds of the columns, and which are integer."""
        low, high, integer = (np.concatenate(part) for part in zip(*self._columns, strict=True))
        return low, high, integer

    def costs(self) -> FloatArray:
        """Return the factor of each column in what is minimised."""
        total = np.zeros(self.n_columns)
        for columns, factors in self._costs:
            np.add.at(total, columns, factors)
        return total
