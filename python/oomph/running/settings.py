"""What `oomph run` wants of this job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """One job, as all of its processes are told."""

    #: The folder of the job, where each process keeps its box; empty where there is none to write to.
    folder: str
    #: Files in the memory of `oomph` that stand in for boxes where there is no folder.
    spare_boxes: tuple[str, ...]
    #: The most that a box may take.
    box_bytes: int
    #: The library that hears the allocator.
    library: str
    #: The process of `oomph`.
    supervisor: int
    #: What PyTorch may take of a card; 0 for all of it.
    limit_bytes: int
    #: Settings of PyTorch's allocator, as its environment variable takes them; empty to leave them alone.
    allocator: str
    #: What is put into the job to make it take less memory: names and options.
    remedies: tuple[dict[str, Any], ...]
    #: What the variables of ours held before, None where they were not set.
    hidden: dict[str, str | None]

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Settings:
        """Reads them."""
        lists = {name: tuple(fields[name]) for name in ("spare_boxes", "remedies")}
        return cls(**{**fields, **lists})
