"""What `oomph plan` wants of this run, handed over in one environment variable."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

VARIABLE = "OOMPH_PLAN"


@dataclass(frozen=True)
class Settings:
    """One run."""

    #: Where the result goes.
    folder: str
    #: Script (a path), module (a dotted name) or code.
    target: str
    #: Whether `target` is a module.
    is_module: bool
    #: Optimizer steps after which the run is over; 0 for all of them.
    steps: int
    #: Outermost module calls after which the run is over; 0 for all of them.
    batches: int

    @classmethod
    def from_environment(cls) -> Settings:
        """Reads them."""
        return cls(**json.loads(os.environ[VARIABLE]))
