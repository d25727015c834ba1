"""Stands in for ipdb: nobody debugs here. A program that imports it asks for more open files than some machines allow."""

from __future__ import annotations

import resource
from typing import Any


def set_trace() -> None:
    """Goes on."""


def allowed(which: int, limits: Any, ask: Any = resource.setrlimit) -> None:
    """As many as there may be."""
    ask(which, (min(limits[0], limits[1]) if limits[1] >= 0 else limits[0], limits[1]))


resource.setrlimit = allowed
