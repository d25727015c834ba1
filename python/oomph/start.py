"""Runs a script the way `python` would, and leaves the result in the folder that `oomph plan` named."""

from __future__ import annotations

import os
import sys

from . import endless, errors, installed, journal, launch, session, smi
from .settings import Settings


def main() -> int:
    """Runs the script to its end, to its last planned step, or to its failure."""
    settings = Settings.from_environment()
    arguments = sys.argv[1:]
    # The interpreter put the folder of this package first; the script's own folder, or '', belongs there.
    sys.path.pop(0)
    watch = session.Session(settings, installed.install())
    tree = [os.getcwd(), os.path.dirname(os.path.abspath(settings.target))]
    smi.Desk(settings.folder).install()
    try:
        watch.install(journal.Journal(settings.folder, tree, watch.note))
        launch.run(settings, arguments)
        outcome = session.Outcome("end")
    except session.Stop:
        outcome = session.Outcome("stopped")
    except endless.Endless:
        outcome = watch.outcome_of_endless()
    except errors.Unusable as problem:
        outcome = session.Outcome("unusable", reason=problem.reason, message=str(problem))
    except SystemExit as problem:
        outcome = session.outcome_of_exit(problem)
    except BaseException as problem:  # noqa: BLE001 - whatever the script raised is its own business, and a result
        outcome = session.outcome_of_failure(problem, watch.reads.last)
    if os.getpid() != watch.owner:
        # A fork of the script ended here: what it leaves is not the result.
        return 1
    watch.finish(outcome)
    launch.leave()
    return 0
