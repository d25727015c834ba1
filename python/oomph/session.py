"""Where a watched process begins: as a plan's, or as that of a real run."""

from __future__ import annotations

import json
import os

#: What `oomph` wants of this job, handed to all of its processes.
VARIABLE = "OOMPH_JOB"


def begin() -> None:
    """Watches this process from now on."""
    fields = json.loads(os.environ[VARIABLE])
    # Either side is imported alone: a real run must not pay for what only plans need.
    if fields.pop("kind") == "run":
        from .running import session

        session.begin(fields)
    else:
        from . import planning

        planning.begin(fields)
