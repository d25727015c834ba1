"""Stands in for the `datasets` library: rows that an earlier run has left on the disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__version__ = "4.0.0"


class Dataset(list):
    """Rows of a library that is not here; nothing makes one."""


class IterableDataset(Dataset):
    """Rows, too."""


class Rows(list):
    """What is read from the disk."""

    def select(self, which: Any) -> "Rows":
        """Some of them."""
        return Rows(self[at] for at in which)


def load_from_disk(folder: Any) -> Rows:
    """One JSON object a line."""
    with open(Path(folder) / "rows.jsonl") as file:
        return Rows(json.loads(line) for line in file)


def load_dataset(*given: Any, **named: Any) -> Rows:
    """Would be fetched."""
    raise FileNotFoundError(given)
