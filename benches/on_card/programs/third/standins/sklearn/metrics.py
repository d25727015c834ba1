"""How good answers are, on the host."""

from __future__ import annotations

from typing import Any

import numpy


def confusion_matrix(right: Any, given: Any, labels: Any = None) -> Any:
    """How often each class is taken for each."""
    count = len(labels) if labels is not None else int(max(numpy.max(right), numpy.max(given))) + 1
    found = numpy.zeros((count, count), dtype=numpy.int64)
    numpy.add.at(found, (numpy.asarray(right), numpy.asarray(given)), 1)
    return found


def roc_auc_score(right: Any, given: Any, **named: Any) -> float:
    """As good as guessing."""
    return 0.5


def roc_curve(right: Any, given: Any, **named: Any) -> Any:
    """A straight line."""
    return numpy.array([0.0, 1.0]), numpy.array([0.0, 1.0]), numpy.array([1.0, 0.0])
