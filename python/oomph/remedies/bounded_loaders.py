"""Bounds what DataLoaders keep on the host: batches that wait in workers' queues, and their pinned copies.

Each worker prepares `prefetch_factor` batches ahead, and pinning copies each once more. The order and the content of
batches stay as they are. Only what workers draw at random may differ: every worker has a generator of its own, so that
with fewer of them a sample meets another generator.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from types import ModuleType
from typing import Any

from .desk import Desk

#: What PyTorch takes where a loader with workers does not say how many batches each prepares ahead.
_PREFETCH_FACTOR = 2


def bounded_loader(
    loader: Any,
    host_bytes: int | None = None,
    workers: int | None = None,
    prefetch_factor: int | None = None,
    pin_memory: bool | None = None,
) -> Any:
    """A loader like this one that keeps less: at most so many workers, batches ahead for each, and bytes in all.

    What is None stays as it is. `host_bytes` is met by preparing fewer batches ahead, then by fewer workers; the size
    of a batch is taken from the first sample of the data set.
    """
    bounds = _Bounds(host_bytes, workers, prefetch_factor, pin_memory)
    options = {name: getattr(loader, name) for name in ("num_workers", "prefetch_factor", "pin_memory")}
    sample_bytes = _sample_bytes(loader.dataset, loader.collate_fn) if host_bytes is not None else None
    batch_bytes = None if sample_bytes is None else sample_bytes * (loader.batch_size or 1)
    changed = bounds.applied_to(options, batch_bytes)
    if changed == options:
        return loader
    names = ("dataset", "collate_fn", "timeout", "worker_init_fn", "multiprocessing_context", "generator")
    kept = {name: getattr(loader, name) for name in names}
    if loader.batch_sampler is not None:
        kept["batch_sampler"] = loader.batch_sampler
    else:
        kept |= {"batch_size": None, "sampler": loader.sampler}
    kept["persistent_workers"] = loader.persistent_workers and changed["num_workers"] > 0
    if not changed["num_workers"]:
        kept["multiprocessing_context"] = None
        kept["timeout"] = 0
    return type(loader)(**kept, **changed)


class _Bounds:
    """How much a loader may keep."""

    def __init__(
        self, host_bytes: int | None, workers: int | None, prefetch_factor: int | None, pin_memory: bool | None
    ) -> None:
        self.host_bytes = host_bytes
        self.workers = workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory

    def applied_to(self, options: dict[str, Any], batch_bytes: int | None) -> dict[str, Any]:
        """The three options of a loader, bounded."""
        workers = options["num_workers"] or 0
        ahead = options["prefetch_factor"] or _PREFETCH_FACTOR
        pins = bool(options["pin_memory"]) and self.pin_memory is not False
        if self.workers is not None:
            workers = min(workers, self.workers)
        if self.prefetch_factor is not None:
            ahead = min(ahead, self.prefetch_factor)
        if self.host_bytes is not None and batch_bytes is not None and workers:
            choices = _choices(workers, ahead)
            fitting = [choice for choice in choices if _held_bytes(*choice, batch_bytes, pins) <= self.host_bytes]
            workers, ahead = fitting[0] if fitting else (1, 1)
        if workers == (options["num_workers"] or 0) and ahead == (options["prefetch_factor"] or _PREFETCH_FACTOR):
            return {**options, "pin_memory": pins if options["pin_memory"] else options["pin_memory"]}
        return {"num_workers": workers, "prefetch_factor": ahead if workers else None, "pin_memory": pins}


def _choices(workers: int, ahead: int) -> list[tuple[int, int]]:
    """Workers and batches ahead, from the most wanted to the least: workers do the work, a queue only smooths it."""
    return list(itertools.product(range(workers, 0, -1), range(ahead, 0, -1)))


def _held_bytes(workers: int, ahead: int, batch_bytes: int, pins: bool) -> int:
    """What waits: batches in queues, and pinned copies, each rounded up to a power of two by PyTorch."""
    pinned_bytes = 1 << max(batch_bytes - 1, 0).bit_length() if pins else 0
    return workers * ahead * (batch_bytes + pinned_bytes)


def _sample_bytes(dataset: Any, collate: Any) -> int | None:
    """The bytes of one sample as the loader hands it out; None where that cannot be known without side effects."""
    import random

    import torch

    if not hasattr(dataset, "__getitem__") or collate is None:
        return None
    state = random.getstate()
    try:
        with torch.random.fork_rng(devices=[]):
            return _bytes_in(collate([dataset[0]]))
    except Exception:  # whatever the user's data set may do
        return None
    finally:
        random.setstate(state)


def _bytes_in(value: Any) -> int:
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if isinstance(value, dict):
        return sum(_bytes_in(part) for part in value.values())
    return sum(_bytes_in(part) for part in value) if isinstance(value, (list, tuple)) else 0


def install(
    torch: ModuleType,
    desk: Desk,
    host_bytes: int | None = None,
    workers: int | None = None,
    prefetch_factor: int | None = None,
    pin_memory: bool | None = None,
) -> None:
    """Bounds every loader there will be."""
    bounds = _Bounds(host_bytes, workers, prefetch_factor, pin_memory)
    loader = torch.utils.data.DataLoader
    original = loader.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            given = signature.bind(self, *args, **kwargs).arguments
            changed = _changed(desk, bounds, given)
        except Exception:  # ours: PyTorch says itself what is wrong with the arguments
            changed = None
        if changed is None:
            original(self, *args, **kwargs)
            return
        given.pop("self")
        original(**{**given, **changed}, self=self)

    loader.__init__ = __init__


def _changed(desk: Desk, bounds: _Bounds, given: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments that a loader gets instead of its own; None where it stays as it is."""
    options = {
        "num_workers": given.get("num_workers", 0),
        "prefetch_factor": given.get("prefetch_factor"),
        "pin_memory": given.get("pin_memory", False),
    }
    changed: dict[str, Any] = bounds.applied_to(options, _batch_bytes(given) if bounds.host_bytes is not None else None)
    if changed == options:
        return None
    if not changed["num_workers"]:
        # PyTorch refuses these without workers.
        changed |= {name: value for name, value in _WITHOUT_WORKERS.items() if name in given}
    desk.applied(**{name: changed[name] for name in options}, **{f"{name}_before": options[name] for name in options})
    if changed["num_workers"] != options["num_workers"]:
        desk.note("With fewer workers, what data sets draw at random inside of them differs; the order does not.")
    return changed


_WITHOUT_WORKERS: dict[str, Any] = {"persistent_workers": False, "multiprocessing_context": None, "timeout": 0}


def _batch_bytes(given: dict[str, Any]) -> int | None:
    from torch.utils.data import default_collate

    one = _sample_bytes(given["dataset"], given.get("collate_fn") or default_collate)
    size = given.get("batch_size", 1)
    if given.get("batch_sampler") is not None:
        size = getattr(given["batch_sampler"], "batch_size", None)
    return None if one is None or size is None else one * size
