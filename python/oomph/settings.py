"""What `oomph plan` wants of this job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """One job, as all of its processes are told."""

    #: Where the results go.
    folder: str
    #: The process of `oomph`, whose child is the job's first process.
    supervisor: int
    #: The signal that asks for the result so far.
    stop_signal: int
    #: Optimizer steps after which the run is over; 0 for all of them.
    steps: int
    #: Outermost module calls after which the run is over; 0 for all of them.
    batches: int
    #: Whether loops over data end once memory repeats.
    walk: bool
    #: The processes of a distributed job that are planned, where a launcher of the job starts them; empty for all.
    ranks: tuple[int, ...]
    #: What is put into the job to make it take less memory: names and options.
    remedies: tuple[dict[str, Any], ...]
    #: Whether to tell what the job is made of.
    survey: bool
    #: Values that are worked out on demand: `seconds` and `host_bytes` at most, with or without `updates` of weights;
    #: None to take what is not known for something.
    values: dict[str, Any] | None = None
    #: Whether the process stops where the script's own work begins, and forks one run after another from there.
    stands: bool = False
    #: Whether the script uses no card: it runs as it is, and only the host's memory is looked at.
    host_only: bool = False
    #: Whether the run is about the line that keeps the host's memory growing, and ends once it is found.
    seeks_growth: bool = False
    #: Whether a run is given up once the job trains without a card: it is then run for the host's memory alone.
    needs_card: bool = False
    #: Files and lines of loops of which the code after them needs all iterations.
    whole_loops: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Settings:
        """Reads them."""
        whole_loops = tuple((place["file"], place["line"]) for place in fields["whole_loops"])
        ranks, remedies = tuple(fields["ranks"]), tuple(fields["remedies"])
        return cls(**{**fields, "ranks": ranks, "remedies": remedies, "whole_loops": whole_loops})
