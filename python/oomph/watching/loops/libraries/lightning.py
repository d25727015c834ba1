"""Lightning's Trainer: loops that keep their own counters and ask their data whether a batch is the last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..conditions import condition_from
from ..sites import Branch, Site

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")
_FILES = ("fit_loop", "training_epoch_loop", "evaluation_loop", "prediction_loop")
MODULES = tuple(f"{package}.loops.{file}" for package in _PACKAGES for file in _FILES)
#: How far the epoch is, and how often the model is validated in it.
_BATCHES = "self.batch_progress.current.ready"
_VALIDATES = f"{_BATCHES} % self.trainer.val_check_batch == 0"
_IS_LAST = f"{_BATCHES} >= self.trainer.num_training_batches"
_IS_LAST_EPOCH = "0 < self.max_epochs <= self.epoch_progress.current.processed"
_IS_USED_UP = "data_fetcher.fetched >= data_fetcher.length"
_PROGRESS = tuple(
    f"self.batch_progress.{span}.{stage}"
    for span in ("current", "total")
    for stage in ("ready", "started", "processed", "completed")
)


def complete(site: Site) -> None:
    """Says when an epoch is validated, and how the loops end with all that belongs to their end."""
    if site.function != "run" or site.statement != "while":
        return
    if site.file.endswith("training_epoch_loop.py"):
        site.branches += [Branch(condition_from(_VALIDATES), "stays"), Branch(condition_from(_IS_LAST), "leaves")]
        site.companions = (*_PROGRESS, "data_fetcher.fetched")
        site.on_end = _use_up
    elif site.file.endswith("fit_loop.py"):
        site.condition = condition_from(_IS_LAST_EPOCH)
    else:
        site.condition = condition_from(_IS_USED_UP)
        site.on_end = _go_to_next_loader


def _use_up(variables: Mapping[str, Any]) -> str:
    """Takes the data away: the batch that was fetched in advance is the last one, which is validated."""
    fetcher = variables["data_fetcher"]
    if not getattr(fetcher, "batches", None) or fetcher.iterator is _NOTHING:
        return "nothing"
    fetcher.iterator = _NOTHING
    return "end"


def _go_to_next_loader(variables: Mapping[str, Any]) -> str:
    """Several loaders are evaluated one after the other."""
    iterator = getattr(variables["data_fetcher"].combined_loader, "_iterator", None)
    loaders = getattr(iterator, "iterables", ())
    # Private, and gone in some version: then the others are not seen.
    go_on = getattr(iterator, "_use_next_iterator", None)
    if go_on is None or getattr(iterator, "_iterator_idx", 0) + 1 >= len(loaders):
        return "nothing"
    go_on()
    return "more"


_NOTHING = iter(())
