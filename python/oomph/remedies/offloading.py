"""Saved tensors that wait for the backward pass in host memory.

Everything that decides which bytes are where depends on the order of calls alone, never on how fast copies are: the
same script has the same peak every time.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .copying import Copies

#: What may be under way between card and host at once, in either direction.
BUFFER_BYTES = 128 << 20
#: A view is saved by its whole storage unless the storage is so many times larger.
_WHOLE_STORAGE = 4
#: How far back the next tensors are looked for.
_LOOK_BACK = 32


class Saved:
    """The bytes of one storage, or of one tensor, which are on the card, on the way, or on the host."""

    def __init__(self, copies: Copies, watched: Any, on_card: Any, order: int) -> None:
        self._copies = copies
        #: Shares its count of changes with the tensor that was saved; gone once the bytes have left the card.
        self._watched: Any | None = watched
        self._version = watched._version
        #: Flat bytes on the card, while they are there.
        self.on_card: Any | None = on_card
        self.size = on_card.numel()
        self.device = on_card.device
        #: When it was saved: the backward pass asks in the opposite order.
        self.order = order
        self._buffer: Any | None = None
        self._copied: Any | None = None
        self._was_modified = False
        #: How many handles there are, and how often one was asked for its tensor.
        self.handles = 0
        self.asked = 0

    def leave(self) -> bool:
        """Starts the copy to the host; says whether there was room."""
        self._buffer = self._copies.take(self.device, self.size)
        if self._buffer is not None:
            self._copied = self._copies.start(self._buffer[: self.size], self.on_card, self.device)
        return self._buffer is not None

    def let_go(self) -> None:
        """Frees the bytes on the card, which are on the host as well."""
        self._copies.wait(self._copied, self.device)
        # A change since the tensor was saved may have come before the copy.
        self._was_modified = self._was_modified or self.is_modified()
        self._watched = self._copied = self.on_card = None

    def come_back(self) -> None:
        """Starts the copy to the card."""
        self.on_card, self._copied = self._copies.bring(self._buffer[: self.size], self.device)

    def arrive(self) -> Any:
        """The bytes on the card; what runs next there waits for them."""
        self._copies.wait(self._copied, self.device)
        self._copied = None
        return self.on_card

    def is_used_up(self) -> bool:
        """Whether it was fetched from the host and every handle has had its tensor: a pass is done with it."""
        return self._watched is None and self.asked % self.handles == 0

    def is_modified(self) -> bool:
        """Whether the tensor was changed in place after autograd saved it, and its values are lost."""
        return self._was_modified or (self._watched is not None and self._watched._version != self._version)

    def __del__(self) -> None:
        if self._buffer is not None:
            self._copies.wait(self._copied, self.device)
            self._copies.give_back(self.device, self._buffer)


@dataclass(frozen=True)
class Handle:
    """What autograd keeps in the place of a tensor."""

    saved: Saved
    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class Offloading:
    """Moves what autograd saves to the host in the forward pass, and back in the backward pass."""

    def __init__(
        self,
        torch: ModuleType,
        keep_bytes: int = 0,
        min_bytes: int = 1 << 20,
        device_types: tuple[str, ...] = ("cuda",),
        buffer_bytes: int = BUFFER_BYTES,
    ) -> None:
        from torch.multiprocessing.reductions import StorageWeakRef

        self._torch = torch
        self._weak_storage = StorageWeakRef
        self._keep_bytes = keep_bytes
        self._min_bytes = min_bytes
        self._buffer_bytes = buffer_bytes
        self._device_types = device_types
        self._copies = Copies(torch)
        #: Saved lately: on the card alone. Then those on their way to the host, and those that are back from there.
        self._kept, self._leaving, self._back = _Queue(), _Queue(), _Queue()
        self._in_order: weakref.WeakValueDictionary[int, Saved] = weakref.WeakValueDictionary()
        #: By the address of a storage, which is not used again while it is referred to: the reference, the version.
        self._of_storage: dict[int, tuple[Any, int, weakref.ref[Saved]]] = {}
        self._others: set[int] = set()
        self._count = 0
        #: The forward pass runs on one thread, the backward pass on another.
        self._lock = threading.RLock()
        #: Bytes that went to the host so far.
        self.moved_bytes = 0

    def leave_alone(self, tensors: Iterable[Any]) -> None:
        """These stay on the card in any case (weights, buffers, the batch): to copy them would free nothing."""
        strided = (tensor for tensor in tensors if tensor.layout is self._torch.strided)
        self._others = {tensor.untyped_storage()._cdata for tensor in strided}

    def hooks(self) -> Any:
        """A context in which what autograd saves goes to the host."""
        return self._torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)

    def pack(self, tensor: Any) -> Any:
        """Takes a tensor that autograd saves; gives what to keep in its place."""
        with self._lock:
            return self._handle(tensor) if self._is_worth_it(tensor) else tensor

    def unpack(self, kept: Any) -> Any:
        """The tensor again."""
        if not isinstance(kept, Handle):
            return kept
        with self._lock:
            return self._tensor(kept)

    def _is_worth_it(self, tensor: Any) -> bool:
        if tensor.device.type not in self._device_types or type(tensor) is not self._torch.Tensor:
            return False
        if tensor.layout is not self._torch.strided or tensor.numel() * tensor.element_size() < self._min_bytes:
            return False
        base = tensor._base if tensor._base is not None else tensor
        is_parameter = isinstance(base, self._torch.nn.Parameter) or (base.is_leaf and base.requires_grad)
        return not is_parameter and tensor.untyped_storage()._cdata not in self._others

    def _handle(self, tensor: Any) -> Handle:
        plain = tensor.detach()
        storage = plain.untyped_storage()
        if storage.nbytes() > _WHOLE_STORAGE * plain.numel() * plain.element_size():
            plain = plain.contiguous()
            saved = self._save(plain, plain.view(-1).view(self._torch.uint8))
            saved.handles += 1
            return Handle(saved, plain.dtype, tuple(plain.shape), tuple(plain.stride()), 0)
        known, version, saved_ref = self._of_storage.get(storage._cdata, (None, -1, None))
        saved = saved_ref() if saved_ref is not None and version == plain._version and not known.expired() else None
        if saved is None:
            saved = self._save(plain, self._torch.empty(0, dtype=self._torch.uint8, device=plain.device).set_(storage))
            self._forget_dead_storages()
            self._of_storage[storage._cdata] = (self._weak_storage(storage), plain._version, weakref.ref(saved))
        saved.handles += 1
        return Handle(saved, plain.dtype, tuple(plain.shape), tuple(plain.stride()), plain.storage_offset())

    def _forget_dead_storages(self) -> None:
        if len(self._of_storage) > 2 * len(self._in_order) + 64:
            alive = {key: kept for key, kept in self._of_storage.items() if kept[2]() is not None}
            self._of_storage = alive

    def _save(self, watched: Any, flat: Any) -> Saved:
        self._count += 1
        saved = Saved(self._copies, watched, flat, self._count)
        self._in_order[self._count] = saved
        self._kept.append(saved)
        for old in self._kept.beyond(self._keep_bytes):
            if not old.is_modified() and old.leave():
                self.moved_bytes += old.size
                self._leaving.append(old)
        for old in self._leaving.beyond(self._buffer_bytes):
            old.let_go()
        return saved

    def _tensor(self, handle: Handle) -> Any:
        saved = handle.saved
        if saved.is_modified():
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"a tensor of shape {list(handle.shape)} was changed after it was saved for the backward pass"
            )
        if saved.on_card is None:
            saved.come_back()
            self._back.append(saved)
        flat = saved.arrive()
        tensor = self._torch.empty(0, dtype=handle.dtype, device=saved.device)
        tensor.set_(flat.untyped_storage(), handle.offset, handle.shape, handle.strides)
        saved.asked += 1
        if saved.is_used_up():
            saved.let_go()
        self._fetch_before(saved.order)
        return tensor

    def _fetch_before(self, order: int) -> None:
        """Fetches what the backward pass will ask for next: what was saved before, as far as there is room."""
        room = self._buffer_bytes - self._back.size()
        for earlier in range(order - 1, max(order - _LOOK_BACK, 0), -1):
            before = self._in_order.get(earlier)
            if before is None or before.on_card is not None or before.is_modified():
                continue
            room -= before.size
            if room < 0:
                break
            before.come_back()
            self._back.append(before)
        for old in self._back.beyond(self._buffer_bytes):
            old.let_go()


class _Queue:
    """Saved tensors in the order in which they came, as long as they are wanted and on the card."""

    def __init__(self) -> None:
        self._members: deque[weakref.ref[Saved]] = deque()

    def append(self, saved: Saved) -> None:
        """The newest."""
        self._members.append(weakref.ref(saved))

    def size(self) -> int:
        """Their bytes."""
        return sum(saved.size for saved in self._alive())

    def beyond(self, limit_bytes: int) -> list[Saved]:
        """Takes out the oldest, until the others are within a limit."""
        alive = self._alive()
        left_bytes = sum(saved.size for saved in alive)
        out = []
        while left_bytes > limit_bytes:
            out.append(alive.popleft())
            left_bytes -= out[-1].size
        self._members = deque(weakref.ref(saved) for saved in alive)
        return out

    def _alive(self) -> deque[Saved]:
        members = (member() for member in self._members)
        return deque(saved for saved in members if saved is not None and saved.on_card is not None)
