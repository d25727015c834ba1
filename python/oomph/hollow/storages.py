"""Something that is kept for each storage on the card, as long as the storage lives."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Generic, TypeVar

T = TypeVar("T")

#: Storages that are kept, and bytes that they had on the card, before those that are gone are looked for.
_SWEEP_AT = 1024
_SWEEP_AT_BYTES = 64 << 20


class ByStorage(Generic[T]):
    """By where a storage is.

    No other comes to lie there while this one is known: what is referred to weakly keeps its place.
    """

    def __init__(self, torch: ModuleType) -> None:
        self._has_storage = torch._C._has_storage
        self._life = torch.multiprocessing.reductions.StorageWeakRef
        address = getattr(torch._C, "_storage_address", None)
        self._address_of_storage = address or (lambda tensor: tensor.untyped_storage()._cdata)
        self._kept: dict[int, tuple[Any, T]] = {}
        self._sweep_at = _SWEEP_AT
        #: Bytes that were kept something for since those that are gone were last looked for.
        self._new_bytes = 0

    def get(self, tensor: Any) -> T | None:
        """What is kept for the storage of a tensor."""
        found = self._kept.get(self._address(tensor))
        return None if found is None else found[1]

    def put(self, tensor: Any, thing: T) -> None:
        """Keeps something for the storage of a tensor, if it has one."""
        address = self._address(tensor)
        if address:
            storage = tensor.untyped_storage()
            self._new_bytes += storage.nbytes()
            self._sweep()
            self._kept[address] = (self._life(storage), thing)

    def drop(self, tensor: Any) -> None:
        """Keeps nothing any longer for the storage of a tensor."""
        self._kept.pop(self._address(tensor), None)

    def drop_storage(self, storage: Any) -> None:
        """Keeps nothing any longer for a storage."""
        self._kept.pop(storage._cdata, None)

    def clear(self) -> None:
        """Keeps nothing any longer."""
        self._kept.clear()

    def _address(self, tensor: Any) -> int:
        """Where the tensor's storage is; 0 if it has none, as the wrappers of `torch.func` and sparse tensors."""
        return self._address_of_storage(tensor) if self._has_storage(tensor) else 0

    def _sweep(self) -> None:
        """Drops what belongs to storages that are gone."""
        if len(self._kept) < self._sweep_at and self._new_bytes < _SWEEP_AT_BYTES:
            return
        self._new_bytes = 0
        self._kept = {address: kept for address, kept in self._kept.items() if not kept[0].expired()}
        self._sweep_at = max(_SWEEP_AT, 2 * len(self._kept))


def writes(tensor: Any) -> int | None:
    """How often the tensor was written in place; None where nobody counts, as in inference mode."""
    return None if tensor.is_inference() else tensor._version
