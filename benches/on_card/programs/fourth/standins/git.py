"""Stands in for GitPython: there is no repository."""

from __future__ import annotations

from typing import Any


class Repo:
    """None."""

    def __init__(self, *given: Any, **named: Any) -> None:
        raise FileNotFoundError("no repository")
