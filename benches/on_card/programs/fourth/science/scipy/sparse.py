"""Matrices of which few entries are not zero, kept with all their zeros."""

from __future__ import annotations

from typing import Any

import numpy

from . import linalg

__all__ = ["coo_matrix", "csr_matrix", "diags", "linalg"]


class coo_matrix:
    """A matrix."""

    def __init__(self, given: Any) -> None:
        self._all = numpy.asarray(given._all if isinstance(given, coo_matrix) else given)
        self.shape = self._all.shape

    def sum(self, axis: int) -> Any:
        """Of every row (1) or of every column (0)."""
        return self._all.sum(axis, keepdims=True)

    def dot(self, other: "coo_matrix") -> "coo_matrix":
        """The product."""
        return coo_matrix(self._all @ other._all)

    def astype(self, kind: Any) -> "coo_matrix":
        """Entries of another kind."""
        return coo_matrix(self._all.astype(kind))

    def todense(self) -> Any:
        """All of it."""
        return self._all


csr_matrix = coo_matrix


def diags(values: Any) -> coo_matrix:
    """Nothing but a diagonal."""
    return coo_matrix(numpy.diag(values))
