"""Recomputes blocks of the model in the backward pass, instead of keeping what they computed.

Of each block only the inputs are kept. Which blocks are worth it is for the search to say; each one tells, at its first
call, how many bytes recomputing it saves.
"""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from . import models, recomputing, trials
from .desk import Desk

#: Told of a block: its path, and the bytes it no longer keeps, if they are known.
Applied = Callable[[str, int | None], None]


def checkpoint_blocks(model: Any, blocks: Iterable[str] | None = None) -> list[str]:
    """Recomputes blocks of a model in the backward pass; returns their paths.

    `blocks` are paths as in `model.named_modules()`, or of layers in a plain sequence (`features.3:6`); by default all
    modules that come several times in a row, or runs of layers where a model has none. Call it before `torch.compile`.
    A block that changes something when it is called (other than the running statistics of batch norms) is found out at
    its first call, and is left alone.
    """
    return _checkpoint(model, blocks, lambda _path, _saved_bytes: None, lambda _sentence: None)


def install(torch: ModuleType, desk: Desk, blocks: Iterable[str] | None = None) -> None:
    """Recomputes the blocks of every model that the script calls."""

    def before_first(model: Any) -> None:
        if models.in_backward():
            return
        _checkpoint(
            model, blocks, lambda path, saved_bytes: desk.applied(block=path, saved_bytes=saved_bytes), desk.refuse
        )

    desk.calls.before_first(before_first)


def _checkpoint(model: Any, wanted: Iterable[str] | None, applied: Applied, refuse: Callable[[str], None]) -> list[str]:
    root = models.unwrapped(model)
    chosen = _chosen(root, wanted)
    if not chosen and any(True for _ in root.parameters()):
        refuse(f"{type(root).__name__} has no blocks that come several times in a row")
    done = []
    flagged = {path: block for path, block in chosen.items() if _has_own_checkpointing(block)}
    if flagged:
        done += _use_own_checkpointing(root, flagged, applied, refuse)
    for path, block in chosen.items():
        if path in flagged:
            continue
        inner = _as_module(block) if isinstance(block, list) else models.unwrapped(block)
        handler = _Block(inner, path, applied, refuse)
        if _has_hooks_inside(inner):
            refuse(f"block {path} stays as it is: hooks inside it would be called twice")
        elif _recompute_run(root, inner, handler) if isinstance(block, list) else _recompute_block(inner, handler):
            done.append(path)
        else:
            refuse(f"block {path} stays as it is: something else has replaced its forward")
    return done


def _chosen(root: Any, wanted: Iterable[str] | None) -> dict[str, Any]:
    """Modules by path, and the layers of runs."""
    if wanted is None:
        return models.blocks(root)
    modules = dict(root.named_modules())
    known = {path: modules[path] if path in modules else models.run_at(root, path) for path in wanted}
    return {path: block for path, block in known.items() if block}


def _as_module(layers: list[Any]) -> Any:
    """A run as a module of its own, which nobody calls: what looks after blocks asks it for its parts."""
    from torch import nn

    return nn.Sequential(*layers)


def _recompute_block(block: Any, handler: _Block) -> bool:
    """Recomputes a module from now on; says whether that is possible."""
    recomputed_when_compiled = not any(True for _ in recomputing.running_statistics(block.modules()))
    return models.around_forward(block, handler, recomputed_when_compiled)


def _recompute_run(root: Any, run: Any, handler: _Block) -> bool:
    """Recomputes a run of layers from now on; says whether that is possible."""
    sequence = root.get_submodule(handler.path.rpartition(".")[0])
    runs = _runs.get(sequence)
    if runs is None:
        runs = _Runs(sequence)
        if not models.around_forward(sequence, runs):
            return False
        _runs[sequence] = runs
    runs.add(run, handler)
    return True


def _has_hooks_inside(block: Any) -> bool:
    return any(part._forward_hooks or part._forward_pre_hooks for part in block.modules() if part is not block)


class _Block:
    """Stands around the forward of one block."""

    def __init__(self, block: Any, path: str, applied: Applied, refuse: Callable[[str], None]) -> None:
        # Weakly: as long as a block lives, so does what stands around its forward.
        self._block = weakref.ref(block)
        self.path = path
        self._applied = applied
        self._refuse = refuse
        #: Whether the block can be called twice; unknown before its first call.
        self._can_be_recomputed: bool | None = None

    def __call__(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        import torch

        block = self._block()
        if self._can_be_recomputed is False or not torch.is_grad_enabled() or models.is_transformed():
            return call(*args, **kwargs)
        needs_gradients = any(parameter.requires_grad for parameter in block.parameters()) or any(
            tensor.requires_grad for tensor in models.tensors_in((args, kwargs))
        )
        if not needs_gradients:
            return call(*args, **kwargs)
        if recomputing.recomputed_by_script():
            self._refuse(f"block {self.path} stays as it is: the script recomputes it already")
            return call(*args, **kwargs)
        if self._can_be_recomputed is None:
            self._can_be_recomputed = self._try(block, call, args, kwargs)
            if not self._can_be_recomputed:
                return call(*args, **kwargs)
        return recomputing.recompute(call, args, kwargs, block.modules())

    def _try(self, block: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if _has_hooks_inside(block):
            # Only transformers' layers come here with hooks, which are transformers' own: they may be called twice,
            # but not now, where they gather results.
            self._applied(self.path, None)
            return True
        try:
            trial = trials.attempt(block, call, args, kwargs)
        except Exception as error:
            self._refuse(f"block {self.path} stays as it is: a trial of it failed ({type(error).__name__}: {error})")
            return False
        if trial.changes:
            self._refuse(f"block {self.path} stays as it is: calling it changes {trial.changes}")
        elif not trial.saved_bytes:
            self._refuse(f"block {self.path} stays as it is: it keeps nothing that others do not")
        else:
            self._applied(self.path, trial.saved_bytes)
            return True
        return False


class _Runs:
    """Stands around the forward of a plain sequence, and takes it run by run."""

    def __init__(self, sequence: Any) -> None:
        self._layers = list(sequence)
        self._sequence = weakref.ref(sequence)
        #: The runs that are recomputed, each by its first layer.
        self._runs: dict[int, tuple[Any, _Block]] = {}

    def add(self, run: Any, block: _Block) -> None:
        """Recomputes a run from now on."""
        self._runs[id(run[0])] = (run, block)

    def __call__(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        now = list(self._sequence())
        is_as_known = len(now) == len(self._layers) and all(map(operator.is_, now, self._layers))
        if not is_as_known or len(args) != 1 or kwargs:
            return call(*args, **kwargs)
        (value,) = args
        # What was passed in is let go as soon as the first layer has it, as in the plain forward of a sequence.
        del args
        at = 0
        while at < len(now):
            run, block = self._runs.get(id(now[at]), (None, None))
            if run is None or block is None:
                value = now[at](value)
                at += 1
            else:
                value = block(functools.partial(_through, run), (value,), {})
                at += len(run)
        return value


#: What stands around sequences.
_runs: weakref.WeakKeyDictionary[Any, _Runs] = weakref.WeakKeyDictionary()


def _through(layers: Iterable[Any], value: Any) -> Any:
    for layer in layers:
        value = layer(value)
    return value


def _has_own_checkpointing(block: Any) -> bool:
    """Whether this is a layer of transformers, which recomputes itself if its flag is set."""
    return hasattr(block, "gradient_checkpointing") and any(
        kind.__name__ == "GradientCheckpointingLayer" for kind in type(block).__mro__
    )


def _use_own_checkpointing(
    root: Any, blocks: dict[str, Any], applied: Applied, refuse: Callable[[str], None]
) -> list[str]:
    """transformers knows what must not be done twice: key-value caches are left out while layers are recomputed."""
    libraries = [module for module in root.modules() if getattr(module, "supports_gradient_checkpointing", False)]
    if not libraries:
        refuse(f"{type(root).__name__} says that it cannot recompute its layers")
        return []
    owner = libraries[0]
    if owner.is_gradient_checkpointing:
        refuse(f"{type(owner).__name__} recomputes its layers already, as the script asked it to")
        return []
    had_input_hook = hasattr(owner, "_require_grads_hook")
    owner.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if not had_input_hook and hasattr(owner, "_require_grads_hook"):
        # Made for the other kind of checkpointing; here it would make frozen layers compute gradients.
        owner.disable_input_require_grads()
    paths = {id(block): path for path, block in blocks.items()}
    for layer in owner.modules():
        if _has_own_checkpointing(layer):
            layer.gradient_checkpointing = id(layer) in paths
            layer._gradient_checkpointing_func = _recompute_layer
            if id(layer) in paths:
                _layers[layer] = _Block(layer, paths[id(layer)], applied, refuse)
    return list(blocks)


#: What stands around the calls of transformers' layers.
_layers: weakref.WeakKeyDictionary[Any, _Block] = weakref.WeakKeyDictionary()


def _recompute_layer(function: Callable[..., Any], *args: Any) -> Any:
    """Stands in for checkpoint: transformers gives the layer's own call, its keywords bound to it."""
    call = function.func if isinstance(function, functools.partial) else function
    module = getattr(call, "__self__", None)
    block = _layers.get(module) if module is not None else None
    if block is None:
        # A copy of the layer is another layer.
        return recomputing.recompute(function, args, {}, [] if module is None else module.modules())
    return block(call, args, dict(getattr(function, "keywords", {})))
