"""Who goes with whom."""

from __future__ import annotations

from typing import Any

import numpy


def linear_sum_assignment(cost: Any) -> Any:
    """The cheapest pair, then the cheapest of what is left: as many pairs as the real one finds."""
    cost = numpy.array(cost, dtype=float)
    rows, columns = [], []
    for _ in range(min(cost.shape)):
        row, column = numpy.unravel_index(numpy.argmin(cost), cost.shape)
        rows.append(row)
        columns.append(column)
        cost[row, :] = cost[:, column] = numpy.inf
    order = numpy.argsort(rows)
    return numpy.array(rows, dtype=numpy.int64)[order], numpy.array(columns, dtype=numpy.int64)[order]
