"""Matrices of which few entries are not zero."""

from __future__ import annotations

from typing import Any

import numpy


class csr_matrix:
    """Entries with their rows and columns, row by row."""

    def __init__(self, given: Any, shape: Any) -> None:
        data, (rows, columns) = given
        order = numpy.lexsort((columns, rows))
        self.data, self.row, self.col = numpy.asarray(data)[order], numpy.asarray(rows)[order], numpy.asarray(columns)[order]
        self.shape = tuple(int(one) for one in shape)
        self._begin = numpy.searchsorted(self.row, numpy.arange(self.shape[0] + 1))

    def sum(self, axis: int) -> Any:
        """Of every row (1) or of every column (0)."""
        found = numpy.zeros(self.shape[1 - axis], self.data.dtype)
        numpy.add.at(found, self.row if axis == 1 else self.col, self.data)
        return numpy.expand_dims(found, axis)

    def __getitem__(self, row: int) -> "csr_matrix":
        part = slice(self._begin[row], self._begin[row + 1])
        columns = self.col[part]
        return csr_matrix((self.data[part], (numpy.zeros_like(columns), columns)), (1, self.shape[1]))

    def nonzero(self) -> Any:
        """Rows and columns."""
        return self.row, self.col

    def tocoo(self) -> "csr_matrix":
        """The same."""
        return self

    def astype(self, kind: Any) -> "csr_matrix":
        """Entries of another kind."""
        return csr_matrix((self.data.astype(kind), (self.row, self.col)), self.shape)


def save_npz(path: Any, matrix: csr_matrix) -> None:
    """Into a file."""
    numpy.savez(path, data=matrix.data, row=matrix.row, col=matrix.col, shape=matrix.shape)


def load_npz(path: Any) -> csr_matrix:
    """Out of a file."""
    with numpy.load(path) as read:
        return csr_matrix((read["data"], (read["row"], read["col"])), read["shape"])
