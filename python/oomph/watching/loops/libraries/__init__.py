"""Libraries whose modules hold the loops that drive a job: their files are watched as if they were the user's.

Where a loop of a library takes a branch in a callback or in another file, its own file here says when.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..sites import Site
from . import lightning, transformers


class Library(NamedTuple):
    """One module of a library."""

    #: Adds to what is known of each of its loops.
    complete: Callable[[Site], None]


def _as_written(_site: Site) -> None:
    """Its source says all there is to know."""


#: Modules that loop over data and take nothing but their arguments to decide when to do what.
_PLAIN = (
    "composer.trainer.trainer",
    "detectron2.engine.train_loop",
    "fastai.learner",
    "flair.trainers.trainer",
    "ignite.engine.engine",
    "mmengine.runner.loops",
    "optuna.study._optimize",
    "pytorch_metric_learning.trainers.base_trainer",
    "sentence_transformers.SentenceTransformer",
    "sentence_transformers.sentence_transformer.model",
    "sentence_transformers.fit_mixin",
    "sentence_transformers.cross_encoder.CrossEncoder",
    "sentence_transformers.cross_encoder.fit_mixin",
    "torchtnt.framework.train",
    "torchtnt.framework.evaluate",
    "trl.trainer.ppo_trainer",
    "trl.trainer.rloo_trainer",
    "ultralytics.engine.predictor",
    "ultralytics.engine.trainer",
    "ultralytics.engine.validator",
)
_MODULES = {
    **dict.fromkeys(_PLAIN, Library(_as_written)),
    **dict.fromkeys(transformers.MODULES, Library(transformers.complete)),
    **dict.fromkeys(lightning.MODULES, Library(lightning.complete)),
}


def of_module(name: str) -> Library | None:
    """The library that a module is known to belong to."""
    return _MODULES.get(name)
