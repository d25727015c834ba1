"""Stands in for h5py: a file is a folder `NAME.parts` of arrays, with `attrs.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy


class File:
    """A file that is read."""

    def __init__(self, path: Any, mode: str = "r", **named: Any) -> None:
        self._folder = Path(f"{path}.parts")
        stated = self._folder / "attrs.json"
        self.attrs: dict[str, Any] = json.loads(stated.read_text()) if stated.exists() else {}

    def __getitem__(self, name: str) -> Any:
        return numpy.load(self._folder / (name.strip("/").replace("/", ".") + ".npy"), mmap_mode="r")

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *what: Any) -> None:
        pass

    def close(self) -> None:
        """Nothing is open."""

    def keys(self) -> list[str]:
        """What it holds."""
        return [path.stem for path in self._folder.glob("*.npy")]
