"""Stands in for the `datasets` library where it is not installed: tables in memory, read from JSON made by prepare.py.

Only what the public scripts of this corpus call is here, and it does what the library's documentation says of it.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from . import utils
from .features import Audio, ClassLabel, Image, Value, decoded

__all__ = ["Audio", "ClassLabel", "Dataset", "DatasetDict", "Image", "IterableDataset", "IterableDatasetDict", "Value", "concatenate_datasets", "load_dataset", "utils"]
__version__ = "4.0.0"

features = SimpleNamespace(Audio=Audio, ClassLabel=ClassLabel, Image=Image, Value=Value)


class IterableDataset:
    """There are none; scripts and transformers ask whether a dataset is one."""


class IterableDatasetDict(dict[str, Any]):
    """The same of their splits."""


class Dataset:
    """A table: lists of values by column."""

    def __init__(self, columns: dict[str, list[Any]], kinds: dict[str, Any] | None = None) -> None:
        self._columns = columns
        self.features = {name: (kinds or {}).get(name, Value()) for name in columns}
        self._transform: Any = None
        self.builder_name, self.config_name, self.info, self.split = "tables", "default", SimpleNamespace(), "train"

    @classmethod
    def from_dict(cls, columns: dict[str, list[Any]]) -> Dataset:
        return cls(columns)

    @property
    def column_names(self) -> list[str]:
        return list(self._columns)

    @property
    def num_rows(self) -> int:
        return len(self)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), []))

    def _made(self, columns: dict[str, list[Any]]) -> Dataset:
        made = Dataset(columns, self.features)
        made._transform = self._transform
        return made

    def _rows(self, rows: Any) -> dict[str, list[Any]]:
        return {name: [decoded(self.features[name], values[row]) for row in rows] for name, values in self._columns.items()}

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return [decoded(self.features[key], value) for value in self._columns[key]]
        if isinstance(key, slice):
            key = range(*key.indices(len(self)))
        if hasattr(key, "__iter__"):
            rows = self._rows(key)
            return self._transform(rows) if self._transform else rows
        row = self._rows([int(key)])
        row = self._transform(row) if self._transform else row
        return {name: values[0] for name, values in row.items()}

    def __iter__(self) -> Any:
        return (self[row] for row in range(len(self)))

    def map(self, function: Any, batched: bool = False, batch_size: int = 1000, remove_columns: Any = (), **_: Any) -> Dataset:
        removed = [remove_columns] if isinstance(remove_columns, str) else list(remove_columns or ())
        made: dict[str, list[Any]] = {}
        size = batch_size if batched else 1
        for start in range(0, len(self), size):
            rows = self._rows(range(start, min(start + size, len(self))))
            given = rows if batched else {name: values[0] for name, values in rows.items()}
            returned = dict(function(given) or {})
            if not batched:
                returned = {name: [value] for name, value in returned.items()}
            kept = {name: values for name, values in rows.items() if name not in removed and name not in returned}
            for name, values in {**kept, **returned}.items():
                made.setdefault(name, []).extend(values)
        return self._made(made)

    def filter(self, function: Any, input_columns: Any = None, **_: Any) -> Dataset:
        def keeps(row: dict[str, Any]) -> bool:
            if input_columns is None:
                return bool(function(row))
            names = [input_columns] if isinstance(input_columns, str) else input_columns
            return bool(function(*(row[name] for name in names)))

        return self.select([at for at in range(len(self)) if keeps({name: values[at] for name, values in self._columns.items()})])

    def select(self, rows: Any) -> Dataset:
        rows = list(rows)
        return self._made({name: [values[row] for row in rows] for name, values in self._columns.items()})

    def shuffle(self, seed: int | None = None, **_: Any) -> Dataset:
        rows = list(range(len(self)))
        random.Random(seed).shuffle(rows)
        return self.select(rows)

    def train_test_split(self, test_size: Any = 0.25, **_: Any) -> DatasetDict:
        count = int(test_size * len(self)) if isinstance(test_size, float) else test_size
        return DatasetDict(train=self.select(range(count, len(self))), test=self.select(range(count)))

    def rename_column(self, old: str, new: str) -> Dataset:
        made = self._made({new if name == old else name: values for name, values in self._columns.items()})
        made.features[new] = self.features[old]
        return made

    def remove_columns(self, names: Any) -> Dataset:
        names = [names] if isinstance(names, str) else names
        return self._made({name: values for name, values in self._columns.items() if name not in names})

    def cast_column(self, _name: str, _kind: Any) -> Dataset:
        return self

    def unique(self, name: str) -> list[Any]:
        return list(dict.fromkeys(self._columns[name]))

    def set_transform(self, transform: Any, **_: Any) -> None:
        self._transform = transform

    def with_transform(self, transform: Any, **_: Any) -> Dataset:
        made = self._made(self._columns)
        made._transform = transform
        return made

    def set_format(self, *_: Any, **__: Any) -> None:
        """Lists stay lists: collators make tensors of them."""

    def with_format(self, *_: Any, **__: Any) -> Dataset:
        return self


class DatasetDict(dict[str, Dataset]):
    """Tables by split."""

    def __getattr__(self, name: str) -> Any:
        def each(*args: Any, **kwargs: Any) -> DatasetDict:
            return DatasetDict({split: getattr(table, name)(*args, **kwargs) for split, table in self.items()})

        return each

    @property
    def column_names(self) -> dict[str, list[str]]:
        return {split: table.column_names for split, table in self.items()}


def concatenate_datasets(tables: list[Dataset]) -> Dataset:
    """One table of several with the same columns."""
    first = tables[0]
    return first._made({name: [value for table in tables for value in table._columns[name]] for name in first._columns})


def _table(path: Path, kinds: dict[str, Any] | None = None) -> Dataset:
    if path.suffix in (".txt", ".text"):
        return Dataset({"text": path.read_text().splitlines()})
    return Dataset(json.loads(path.read_text()), kinds)


def load_dataset(path: str, name: str | None = None, data_files: Any = None, split: str | None = None, **_: Any) -> Any:
    """The tables of a name: `$FIT_DATA/tables/NAME.json`, or the files given."""
    if data_files:
        files = data_files if isinstance(data_files, dict) else {"train": data_files}
        tables = {one: _table(Path(file[0] if isinstance(file, list) else file)) for one, file in files.items()}
    else:
        stored = json.loads(Path(os.environ["FIT_DATA"], "tables", f"{Path(path).name}.json").read_text())
        kinds = {one: ClassLabel(kind) if isinstance(kind, list) else {"image": Image, "audio": Audio}[kind]() for one, kind in stored["kinds"].items()}
        tables = {one: Dataset(columns, kinds) for one, columns in stored["splits"].items()}
    if split is None:
        return DatasetDict(tables)
    one, _, share = split.partition("[")
    table = tables.get(one) or next(iter(tables.values()))
    if share:
        first, _, last = share.rstrip("]").replace("%", "").partition(":")
        table = table.select(range(len(table) * int(first or 0) // 100, len(table) * int(last or 100) // 100))
    return table
