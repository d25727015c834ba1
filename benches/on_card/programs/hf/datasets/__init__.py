"""Stands in for the `datasets` library: lines of JSON as a list of dictionaries."""

from __future__ import annotations

import json
from typing import Any

__version__ = "4.0.0"


class Dataset(list):
    """Rows."""

    def map(self, change: Any, **named: Any) -> "Dataset":
        """Every row changed."""
        return Dataset({**row, **change(row)} for row in self)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return list(self[0])


class IterableDataset(Dataset):
    """Rows, too."""


class DatasetDict(dict):
    """Splits."""


def load_dataset(kind: str, data_files: Any = None, split: str | None = None, **named: Any) -> Any:
    """The rows of a file."""
    with open(data_files) as lines:
        rows = Dataset(json.loads(line) for line in lines)
    return rows if split else DatasetDict(train=rows)


def Features(given: Any) -> Any:
    """Columns; not checked."""
    return given


def Value(given: str) -> str:
    """A type; not checked."""
    return given


def Sequence(given: Any) -> Any:
    """A type; not checked."""
    return given
