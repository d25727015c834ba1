"""Values that are known although the card computes nothing: small tensors keep theirs on the host beside them.

What came from the host, or was made by filling, counting or drawing, has values that anybody can work out; what a
kernel computed from a network's floats has not. The values belong to a storage, so views need no care. Nothing here
makes a tensor on the card.
"""

from __future__ import annotations

import ctypes
from types import ModuleType
from typing import Any

from .storages import ByStorage, writes

#: Whole numbers and truth values of tensors up to this many elements are kept.
MOST_ELEMENTS = 1 << 22
#: Other numbers that were worked out from those.
MOST_FLOATS = 1 << 20
#: Other numbers that come from the host: boxes and ratios, hardly weights.
MOST_FLOATS_FROM_HOST = 1 << 12
#: Elements worked out in all before only small tensors are followed: some seconds' worth.
BUDGET_ELEMENTS = 1 << 30
#: What is small then.
MOST_AFTERWARDS = 1 << 14
#: This thread keeps something for the plan, in the hollow card's words.
_KEEPING = 2


class _Kept:
    """The values of one storage."""

    __slots__ = ("assumed", "is_settled", "storage", "version")

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.version: int | None = None
        #: Operators that write in place count their write after the fact.
        self.is_settled = False
        #: What was assumed where the values are not known for sure: a word of `reads`.
        self.assumed: str | None = None


class Values:
    """By storage."""

    def __init__(self, torch: ModuleType) -> None:
        self.torch = torch
        self._kept: ByStorage[_Kept] = ByStorage(torch)
        self._left = BUDGET_ELEMENTS
        #: Whose the host's memory is that this thread takes, as the hollow card counts it.
        self._say_doing = getattr(ctypes.CDLL(None), "oomph_hollow_aside", lambda _: 0)
        self._whole_types = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}

    def may_keep(self, tensor: Any, most_floats: int = MOST_FLOATS) -> bool:
        """Whether a tensor on the card is small enough for its values to be kept."""
        most = MOST_ELEMENTS if tensor.dtype in self._whole_types else most_floats
        return bool(tensor.numel() <= (most if self._left > 0 else min(most, MOST_AFTERWARDS)))

    def of(self, tensor: Any) -> Any:
        """The values of a tensor on the card as a tensor on the host, which shares their memory; or None."""
        kept = self._find(tensor)
        return None if kept is None else self._view(kept.storage, tensor)

    def assumed(self, tensor: Any) -> str | None:
        """What was assumed to know the values of this tensor."""
        kept = self._find(tensor)
        return None if kept is None else kept.assumed

    def put(self, tensor: Any, values: Any, assumed: str | None = None, *, is_new: bool = False) -> None:
        """Keeps values for a tensor; for a part of a storage only if the rest is known, or new and of no interest."""
        if not self.torch._C._has_storage(tensor):
            return
        kept = self._find(tensor)
        storage_bytes = tensor.untyped_storage().nbytes()
        if is_new or tensor.numel() * tensor.element_size() == storage_bytes:
            kept = _Kept(self._own_storage(storage_bytes))
            self._kept.put(tensor, kept)
        elif kept is None:
            return
        self._view(kept.storage, tensor).copy_(values)
        self._left -= tensor.numel()
        kept.assumed = assumed or kept.assumed
        kept.version, kept.is_settled = writes(tensor), is_new

    def _own_storage(self, size_bytes: int) -> Any:
        """Memory of the host that is not the script's."""
        before = self._say_doing(_KEEPING)
        try:
            return self.torch.UntypedStorage(size_bytes, device="cpu")
        finally:
            self._say_doing(before)

    def written(self, tensor: Any) -> None:
        """The kept values are those of now, although something was just written."""
        kept = self._kept.get(tensor)
        if kept is not None:
            kept.version, kept.is_settled = writes(tensor), False

    def counted(self, tensor: Any) -> None:
        """The write that follows now was counted already, as operators on lists of tensors do."""
        kept = self._kept.get(tensor)
        if kept is not None and kept.version is not None and writes(tensor) == kept.version + 1:
            kept.version = writes(tensor)

    def forget(self, tensor: Any) -> None:
        """Nobody knows any longer what the tensor holds."""
        self._kept.drop(tensor)

    def forget_storage(self, storage: Any) -> None:
        """Nobody knows any longer what the storage holds."""
        self._kept.drop_storage(storage)

    def forget_all(self) -> None:
        """Nobody knows anything any longer."""
        self._kept.clear()

    def _find(self, tensor: Any) -> _Kept | None:
        kept = self._kept.get(tensor)
        if kept is None:
            return None
        version = writes(tensor)
        if version is not None and version != kept.version:
            if kept.is_settled or kept.version is None or version != kept.version + 1:
                # Written by an operator that is not followed.
                self.forget(tensor)
                return None
            kept.version = version
        kept.is_settled = True
        return kept

    def _view(self, storage: Any, tensor: Any) -> Any:
        empty = self.torch.ops.aten.empty.memory_format([0], dtype=tensor.dtype, device="cpu")
        return empty.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())
