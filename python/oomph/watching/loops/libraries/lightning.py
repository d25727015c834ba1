"""Lightning's Trainer: loops that keep their own counters and ask their data whether a batch is the last."""

from __future__ import annotations

from ..conditions import condition_from
from ..sites import Branch, Site

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")
_FILES = ("fit_loop", "training_epoch_loop", "evaluation_loop", "prediction_loop")
MODULES = tuple(f"{package}.loops.{file}" for package in _PACKAGES for file in _FILES)
#: How far the epoch is, and how often the model is validated in it.
_BATCHES = "self.batch_progress.current.ready"
_VALIDATES = f"{_BATCHES} % self.trainer.val_check_batch == 0"
_IS_LAST = f"{_BATCHES} >= self.trainer.num_training_batches"
_PROGRESS = tuple(
    f"self.batch_progress.{span}.{stage}"
    for span in ("current", "total")
    for stage in ("ready", "started", "processed", "completed")
)


def complete(site: Site) -> None:
    """Says when an epoch is validated, and how its loop ends with all that belongs to the end of an epoch."""
    if site.function == "run" and site.file.endswith("training_epoch_loop.py"):
        site.branches += [Branch(condition_from(_VALIDATES), "stays"), Branch(condition_from(_IS_LAST), "leaves")]
        site.companions = (*_PROGRESS, "data_fetcher.fetched")
        site.drained = "data_fetcher.iterator"
