"""Stands in for pandas: a table of numbers out of a CSV file."""

from __future__ import annotations

from typing import Any

import numpy


class Table:
    """Rows and columns."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def to_numpy(self) -> Any:
        """All of it."""
        return self.values


def read_csv(path: Any, **named: Any) -> Table:
    """The first line has the names."""
    return Table(numpy.loadtxt(path, delimiter=",", skiprows=1))
