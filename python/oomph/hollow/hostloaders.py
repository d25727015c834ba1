"""What loaders with workers take of the host's memory over a whole epoch, of which a plan sees the first batches.

A forked worker shares everything with the process that started it until one of them writes. Python writes to an object
whenever it is used: it counts references in the object itself. So a worker that has gone through a data set of Python
objects has copied the pages they lie on. How much that is follows from the objects: their size, and in which order the
sampler goes through them. Arrays and tensors are only read, and stay shared.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..source_lines import place_of

#: Elements that are looked at of each large collection, and objects that are looked at in all.
SAMPLED = 512
OBJECTS_MAX = 200_000
PAGE_BYTES = 4096
#: What a tensor takes beside its values: its object, and what PyTorch keeps of it and of its storage.
TENSOR_BYTES = 80 + 512
#: Batches that are measured, of each loader.
BATCHES_MEASURED = 4


class HostLoaders:
    """The loaders with workers that this process has started."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], dict[str, Any]] = {}

    def install(self, torch: ModuleType) -> None:
        """Looks at each loader that starts workers, and at its first batches."""
        iterator = torch.utils.data.dataloader._MultiProcessingDataLoaderIter
        iterator.__init__ = self._starting(iterator.__init__)
        iterator._process_data = self._receiving(iterator._process_data)

    def facts(self) -> list[dict[str, Any]]:
        """What is known of each."""
        return list(self._found.values())

    def _starting(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def __init__(iterator: Any, loader: Any) -> None:
            original(iterator, loader)
            iterator._oomph_place = self._meet(loader)

        return __init__

    def _meet(self, loader: Any) -> tuple[str, int]:
        place = place_of(sys._getframe(2))
        facts = {
            "file": place[0],
            "line": place[1],
            "workers": loader.num_workers,
            "prefetch_factor": loader.prefetch_factor or 1,
            "pin_memory": bool(loader.pin_memory),
            "batch_bytes": 0,
            "object_bytes": 0,
            "items": 0,
            "seen_batches": 0,
            "copied_bytes": 0,
            "seen_copied_bytes": 0,
        }
        facts = self._found.setdefault(place, facts)
        if not facts["object_bytes"]:
            with contextlib.suppress(Exception):
                # A data set is the script's own code, and may raise whatever it likes.
                facts["object_bytes"], facts["items"] = _objects(loader.dataset)
        return place

    def _receiving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def _process_data(iterator: Any, data: Any, *args: Any) -> Any:
            facts = self._found.get(getattr(iterator, "_oomph_place", None))  # type: ignore[arg-type]
            if facts is not None:
                # Samplers and batches are the script's own, too.
                with contextlib.suppress(Exception):
                    self._on_batch(facts, iterator, data)
            return original(iterator, data, *args)

        return _process_data

    def _on_batch(self, facts: dict[str, Any], iterator: Any, data: Any) -> None:
        facts["seen_batches"] += 1
        if facts["seen_batches"] <= BATCHES_MEASURED:
            facts["batch_bytes"] = max(facts["batch_bytes"], tensor_bytes(data))
        if not facts["object_bytes"] or not facts["items"]:
            return
        batch_size = getattr(iterator._index_sampler, "batch_size", 1) or 1
        sent = getattr(iterator, "_send_idx", 0) * batch_size
        is_shuffled = type(getattr(iterator._index_sampler, "sampler", None)).__name__ != "SequentialSampler"
        pages = Pages(facts["object_bytes"], facts["items"], is_shuffled=is_shuffled)
        # Workers that outlive an epoch come by every item.
        stays = getattr(iterator, "_persistent_workers", False) and is_shuffled
        whole = facts["items"] if stays else _length(iterator) * batch_size
        # The workers of a later epoch start anew; what those of an earlier one had copied was seen.
        facts["seen_copied_bytes"] = max(facts["seen_copied_bytes"], pages.copied_bytes(sent / facts["workers"]))
        facts["copied_bytes"] = max(facts["seen_copied_bytes"], pages.copied_bytes(whole / facts["workers"]))


class Pages:
    """Objects of a data set on their pages, as a worker goes through them. Pure."""

    def __init__(self, object_bytes: int, items: int, *, is_shuffled: bool) -> None:
        self.object_bytes = object_bytes
        self.items = items
        self.is_shuffled = is_shuffled

    def copied_bytes(self, items: float) -> int:
        """What a worker has copied that has used so many items of the data set."""
        share = min(items / self.items, 1.0)
        if self.is_shuffled:
            # A page is copied by the first item on it.
            items_a_page = max(PAGE_BYTES * self.items / self.object_bytes, 1.0)
            share = 1.0 - (1.0 - share) ** items_a_page
        return round(self.object_bytes * share)


def _length(iterator: Any) -> int:
    try:
        return len(iterator._index_sampler)
    except (TypeError, NotImplementedError, AttributeError):
        return 0


def _objects(dataset: Any) -> tuple[int, int]:
    """What the Python objects of a data set take, and how many items it has."""
    try:
        items = len(dataset)
    except (TypeError, NotImplementedError):
        items = 0
    return (round(object_bytes(dataset)) if items else 0), items


def object_bytes(root: Any) -> float:
    """The objects that belong to something, in bytes; of large collections a sample stands for the rest."""
    total, looked = 0.0, 0
    known: set[int] = set()
    pending: list[tuple[Any, float]] = [(root, 1.0)]
    while pending and looked < OBJECTS_MAX:
        thing, weight = pending.pop()
        is_code = isinstance(thing, (type, ModuleType)) or (callable(thing) and not _has(thing, "__getitem__"))
        if id(thing) in known or is_code:
            continue
        known.add(id(thing))
        looked += 1
        total += weight * _own_bytes(thing)
        parts, share = _parts(thing)
        pending.extend((part, weight * share) for part in parts)
    return total


def _own_bytes(thing: Any) -> int:
    """What lies on pages that are written when it is used."""
    if _has(thing, "untyped_storage"):
        # A small one's values lie among other small blocks.
        size_bytes = thing.numel() * thing.element_size()
        return TENSOR_BYTES + (size_bytes if size_bytes < PAGE_BYTES else 0)
    if _has(thing, "__array_interface__"):
        size_bytes = int(getattr(thing, "nbytes", 0))
        return 112 + (size_bytes if size_bytes < PAGE_BYTES else 0)
    if isinstance(thing, (list, tuple, dict, set)) and len(thing) > SAMPLED:
        # Its table is only read.
        return 64
    return min(sys.getsizeof(thing, 0), PAGE_BYTES)


def _parts(thing: Any) -> tuple[list[Any], float]:
    """What belongs to something, and how many times as much there is."""
    if isinstance(thing, dict):
        both = [*_sample(list(thing.values())), *_sample(list(thing.keys()))]
        return both, max(len(thing) / SAMPLED, 1.0)
    if isinstance(thing, (list, tuple)):
        return _sample(thing), max(len(thing) / SAMPLED, 1.0)
    if isinstance(thing, (str, bytes, int, float, bool, type(None))) or _has(thing, "untyped_storage"):
        return [], 1.0
    return list(_own_attributes(thing).values()), 1.0


def _own_attributes(thing: Any) -> dict[str, Any]:
    try:
        return dict(object.__getattribute__(thing, "__dict__"))
    except AttributeError:
        return {}


def _has(thing: Any, name: str) -> bool:
    """Whether things of its kind have an attribute. Asked itself, it might run code of the script, and raise."""
    return hasattr(type(thing), name)


def _sample(things: Any) -> list[Any]:
    if len(things) <= SAMPLED:
        return list(things)
    return [things[index * len(things) // SAMPLED] for index in range(SAMPLED)]


def tensor_bytes(batch: Any) -> int:
    """The tensors of a batch, in bytes."""
    if _has(batch, "untyped_storage"):
        return int(batch.untyped_storage().nbytes())
    if isinstance(batch, dict):
        return sum(tensor_bytes(part) for part in batch.values())
    if isinstance(batch, (list, tuple)):
        return sum(tensor_bytes(part) for part in batch)
    return sum(tensor_bytes(part) for part in _own_attributes(batch).values())
