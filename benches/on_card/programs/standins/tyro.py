"""Stands in for tyro: a dataclass filled from `--name value` words."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any


def cli(kind: Any) -> Any:
    """The dataclass with what the command line says."""
    made, given = kind(), sys.argv[1:]
    types = {one.name: one.type for one in dataclasses.fields(kind)}
    at = 0
    while at < len(given):
        name = given[at].removeprefix("--").replace("-", "_")
        if name not in types and name.startswith("no_"):
            setattr(made, name[3:], False)
            at += 1
        elif types[name] in (bool, "bool"):
            setattr(made, name, True)
            at += 1
        else:
            old = getattr(made, name)
            setattr(made, name, (type(old) if old is not None else float)(given[at + 1]))
            at += 2
    return made
