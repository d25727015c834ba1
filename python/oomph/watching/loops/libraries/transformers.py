"""The Trainer of transformers: evaluation, checkpoints and logs come every so many steps, as a callback decides."""

from __future__ import annotations

from ..conditions import condition_from
from ..sites import Branch, Site

MODULES = ("transformers.trainer", "transformers.trainer_seq2seq")
#: The loop whose iterations take the optimizer steps: of one epoch, in the newer versions and the older ones.
_FUNCTIONS = {"_run_epoch", "_inner_training_loop"}
_STEPPING = {"update_step", "step", "_"}
_EVERY = "self.args.{what}_strategy == 'steps' and self.state.global_step % self.state.{what}_steps == 0"


def complete(site: Site) -> None:
    """Says when the callback will ask for something."""
    if site.function in _FUNCTIONS and site.index in _STEPPING:
        for what in ("eval", "save"):
            site.branches.append(Branch(condition_from(_EVERY.format(what=what)), "stays"))
