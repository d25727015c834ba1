"""Stands in for blobfile with files of this machine."""

from __future__ import annotations

from os import listdir, makedirs
from os.path import basename, dirname, exists, isdir, join
from typing import IO, Any

__all__ = ["BlobFile", "basename", "dirname", "exists", "isdir", "join", "listdir", "makedirs"]


def BlobFile(path: str, mode: str = "r", **named: Any) -> IO[Any]:
    """An open file."""
    return open(path, mode)
