"""Frameworks whose loops are their own: the one function of each that runs forward and backward for a batch.

What callbacks, logs and schedulers count stays as it is. Their own gradient accumulation is not used: it would
change that, drop other rows from a last batch, and weigh parts of unequal size alike.
"""

from __future__ import annotations

import contextlib
import functools
from collections import OrderedDict
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ...watching.imports import after_import
from .deciding import Step
from .loaders import Loaders


def install(loaders: Loaders) -> None:
    """Waits for them to be imported. Loops with accelerate and Fabric are the script's own, their loaders are not."""
    after_import("accelerate.data_loader", lambda module: _split_accelerate(module, loaders))
    for package in ("lightning.fabric", "lightning_fabric"):
        after_import(f"{package}.wrappers", lambda module: loaders.watch(module._FabricDataLoader))
    after_import("transformers.trainer", lambda module: _split_trainer(module.Trainer, loaders))
    for package in ("lightning.pytorch", "pytorch_lightning"):
        name = f"{package}.loops.optimization.automatic"
        after_import(name, lambda module: _split_lightning(module, loaders))


def _split_accelerate(module: Any, loaders: Loaders) -> None:
    """accelerate: loaders that move batches and look one ahead; the script takes its batches from them."""
    for kind in (module.DataLoaderShard, module.DataLoaderDispatcher):
        loaders.watch(kind)


def _split_trainer(trainer: Any, loaders: Loaders) -> None:
    """transformers: `training_step` prepares the inputs, computes the loss and calls `backward()`."""
    original = trainer.training_step

    @functools.wraps(original)
    def training_step(self: Any, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        def run(part: Any, _number: int) -> dict[str, Any]:
            return {"loss": original(self, model, part, *args, **kwargs)}

        return loaders.in_parts(Step("Trainer.training_step", inputs, run, [model]))["loss"]

    trainer.training_step = training_step


def _split_lightning(module: ModuleType, loaders: Loaders) -> None:
    """Lightning: a closure runs `training_step`, `zero_grad` and `backward`; the optimizer calls it."""
    optimization: Any = module._AutomaticOptimization  # type: ignore[attr-defined]
    original = optimization._make_closure

    @functools.wraps(original)
    def _make_closure(self: Any, kwargs: OrderedDict[str, Any], *args: Any) -> Any:
        whole = original(self, kwargs, *args)
        if whole._backward_fn is None or "batch" not in kwargs:
            return whole
        results = self.trainer._results

        def closure(*_args: Any, **_kwargs: Any) -> Any:
            outputs: list[Any] = []
            model = self.trainer.lightning_module

            def run(part: Any, number: int) -> dict[str, Any]:
                one = original(self, OrderedDict(kwargs, batch=part), *args)
                if number or loaders.is_probing:
                    one._zero_grad_fn = None
                # Means over the epoch weigh what `training_step` logs by the rows that it saw.
                results.batch, results.batch_size = part, None
                with _without_logs(model) if loaders.is_probing else contextlib.nullcontext():
                    call = getattr(type(one).closure, "__wrapped__", None) if loaders.is_probing else None
                    # Without the decorator that has autograd record: a probe needs no graph.
                    outputs.append((call or type(one).closure)(one))
                return dict(outputs[-1].asdict())

            names = loaders.in_parts(Step("Lightning's training_step", kwargs["batch"], run, [model]))
            results.batch, results.batch_size = kwargs["batch"], None
            result = outputs[-1]
            result.loss = names.pop("loss")
            result.extra = names
            return result

        whole.closure = closure
        return whole

    optimization._make_closure = _make_closure


@contextlib.contextmanager
def _without_logs(model: Any) -> Iterator[None]:
    """What a LightningModule logs now is not kept."""
    object.__setattr__(model, "log", lambda *_args, **_kwargs: None)
    try:
        yield
    finally:
        object.__delattr__(model, "log")
