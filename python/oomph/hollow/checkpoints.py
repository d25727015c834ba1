"""Checkpoints of a hollow run: as small as what is known of them, and loaded again in their full size.

A script that saves its best model and loads it at the end must find it there. `torch.save` writes the file it always
writes, but for the values of large tensors that nobody has computed: of those it keeps the names, and `torch.load` makes
them anew, untouched. safetensors files have their full size and take no room on the disk where nothing is known.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import mmap
import os
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from .hostcost import LARGE_BYTES, Shortcuts
from ..watching.recorder import Recorder, now_us
from .values import Values

#: Large host tensors that were written to are saved with their values up to that much in all.
VALUES_BUDGET_BYTES = 1 << 30
#: The names of the storages that are not in a file.
_RECORD = "oomph/left_out"
#: Pages looked at in one go.
_PAGES_AT_ONCE = 1 << 16


class Checkpoints:
    """What is saved and loaded in one run."""

    def __init__(self, recorder: Recorder, note: Callable[[str], None]) -> None:
        self.recorder = recorder
        self.note = note
        self._budget_bytes = VALUES_BUDGET_BYTES
        self._saves = threading.local()

    def install(self, torch: ModuleType, values: Values, short: Shortcuts) -> None:
        """Stands between torch's own code and the files."""
        self.torch = torch
        self.values = values
        self.short = short
        serialization = torch.serialization
        for name, wrap in (("save", self._save), ("load", self._load)):
            wrapped = wrap(getattr(serialization, name))
            for owner in (torch, serialization):
                setattr(owner, name, wrapped)
        serialization._open_zipfile_writer = self._writing(serialization._open_zipfile_writer)
        serialization._open_zipfile_reader = self._reading(serialization._open_zipfile_reader)
        serialization._get_restore_location = self._restoring(serialization._get_restore_location)
        torch.Tensor.__reduce_ex__ = self._pickling(torch.Tensor.__reduce_ex__)
        base = torch.storage._StorageBase
        base.cpu = self._to_host(base.cpu)
        torch.UntypedStorage.from_file = staticmethod(self._mapping(torch.UntypedStorage.from_file))

    def install_safetensors(self, module: ModuleType) -> None:
        """Writes files of the same format."""
        original = module.save_file

        @functools.wraps(original)
        def save_file(tensors: dict[str, Any], filename: Any, metadata: dict[str, str] | None = None) -> None:
            check = getattr(module, "_evaluate_tensors_for_save", None)
            if check is not None:
                check(tensors)
            self._write_safetensors(tensors, os.fspath(filename), metadata, module._TYPES)

        module.save_file = save_file

    # torch.save

    def _save(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
            # The old format has no room for names only.
            kwargs.pop("_use_new_zipfile_serialization", None)
            with self._saving():
                original(obj, f, *args[:2], **kwargs)

        return save

    @contextlib.contextmanager
    def _saving(self) -> Iterator[None]:
        """What is known of tensors on the card, by storage. Pickling may save inside of saving."""
        before = self._known
        self._saves.known = {}
        try:
            yield
        finally:
            self._saves.known = before

    @property
    def _known(self) -> dict[int, Any] | None:
        return getattr(self._saves, "known", None)

    def _pickling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Storages are saved, but it is the tensors by which one can tell whether values still hold."""

        @functools.wraps(original)
        def reduce_ex(tensor: Any, protocol: Any) -> Any:
            known = self._known
            if known is not None and type(tensor) is self.torch.Tensor and tensor.is_cuda:
                values = self.values.of(tensor)
                if values is not None:
                    known[tensor.untyped_storage()._cdata] = values.untyped_storage()
            return original(tensor, protocol)

        return reduce_ex

    def _to_host(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Saving is no reading: the script learns nothing from it."""

        @functools.wraps(original)
        def cpu(storage: Any) -> Any:
            known = self._known
            if known is None or storage.device.type != "cuda":
                return original(storage)
            return known.get(storage._cdata)

        return cpu

    def _writing(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def open_zipfile_writer(name_or_buffer: Any) -> Any:
            opener = original(name_or_buffer)
            opener.file_like = _Writer(opener.file_like, self._is_saved)
            return opener

        return open_zipfile_writer

    def _is_saved(self, data: Any, size_bytes: int) -> bool:
        """Whether the values are worth their room."""
        if data is None:
            return False
        if size_bytes < LARGE_BYTES or not hasattr(data, "data_ptr"):
            return True
        if not is_touched(data.data_ptr(), size_bytes):
            return False
        if size_bytes > self._budget_bytes:
            self.note("checkpoints hold the values of the first gigabyte of host tensors only; the rest loads as zeros")
            return False
        self._budget_bytes -= size_bytes
        return True

    # torch.load

    def _load(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def load(f: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(f, (str, os.PathLike)) and self._is_own(os.fspath(f)):
                # What is not in the file cannot be mapped from it.
                kwargs["mmap"] = False
            return original(f, *args, **kwargs)

        return load

    def _is_own(self, path: str) -> bool:
        try:
            return bool(self.torch._C.PyTorchFileReader(path).has_record(_RECORD))
        except RuntimeError:
            return False

    def _reading(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def open_zipfile_reader(name_or_buffer: Any) -> Any:
            opener = original(name_or_buffer)
            if opener.file_like.has_record(_RECORD):
                opener.file_like = _Reader(opener.file_like, self._blank)
            return opener

        return open_zipfile_reader

    def _blank(self, size_bytes: int) -> Any:
        if size_bytes < LARGE_BYTES:
            tensor = self.torch.zeros(size_bytes, dtype=self.torch.uint8, device="cpu")
        else:
            tensor = self.short.blank(self.torch.empty(size_bytes, dtype=self.torch.uint8, device="meta"))
        tensor.untyped_storage()._is_left_out = True
        return tensor

    def _restoring(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """What is loaded onto the card is no activation; what nobody knew when it was saved is not known there now."""

        def get_restore_location(map_location: Any) -> Any:
            restore = original(map_location)

            def restore_location(storage: Any, location: Any) -> Any:
                restored = restore(storage, location)
                if restored.device.type == "cuda":
                    self.recorder.tag_block(restored.device.index or 0, restored.data_ptr(), "loaded", now_us())
                    if getattr(storage, "_is_left_out", False):
                        self.values.forget_storage(restored)
                return restored

            return restore_location

        return get_restore_location

    def _mapping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Files larger than the machine's memory are mapped without the system's promise to back a copy of them."""

        @functools.wraps(original)
        def from_file(filename: Any, shared: bool = False, nbytes: int = 0) -> Any:
            if shared or nbytes < self.short.huge_bytes:
                return original(filename, shared, nbytes)
            with open(filename, "rb") as file:
                return self.short.mapped(nbytes, self.torch.uint8, file.fileno()).untyped_storage()

        return from_file

    # safetensors

    def _write_safetensors(
        self, tensors: dict[str, Any], path: str, metadata: dict[str, str] | None, types: dict[str, Any]
    ) -> None:
        names = {dtype: name for name, dtype in types.items()}
        # As the library orders them: the widest first, so that every tensor is aligned.
        order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
        header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
        end = 0
        for name in order:
            tensor = tensors[name]
            if not tensor.is_contiguous():
                raise ValueError(f"You are trying to save a non contiguous tensor: `{name}` which is not allowed.")
            start, end = end, end + tensor.numel() * tensor.element_size()
            header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.truncate(8 + len(text) + end)
            for name in order:
                start, end = header[name]["data_offsets"]
                values = self.values.of(tensors[name]) if tensors[name].is_cuda else tensors[name].detach()
                if end > start and self._is_saved(values, end - start):
                    file.seek(8 + len(text) + start)
                    file.write(ctypes.string_at(values.data_ptr(), end - start))


class _Writer:
    """Writes what torch writes, but for storages that are not worth it."""

    def __init__(self, inner: Any, is_saved: Callable[[Any, int], bool]) -> None:
        self._inner = inner
        self._is_saved = is_saved
        self._left_out: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write_record(self, name: str, data: Any, size_bytes: int) -> None:
        if self._is_saved(data, size_bytes):
            self._inner.write_record(name, data, size_bytes)
        else:
            self._left_out.append(name)

    def write_end_of_file(self) -> None:
        text = json.dumps(self._left_out).encode()
        self._inner.write_record(_RECORD, text, len(text))
        self._inner.write_end_of_file()


class _Reader:
    """Reads what is in a file, and makes the rest."""

    def __init__(self, inner: Any, blank: Callable[[int], Any]) -> None:
        self._inner = inner
        self._blank = blank
        self._left_out = set(json.loads(inner.get_record(_RECORD)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def get_storage_from_record(self, name: str, size_bytes: int, kind: Any) -> Any:
        if name in self._left_out:
            return self._blank(size_bytes)
        return self._inner.get_storage_from_record(name, size_bytes, kind)

    def get_record_offset(self, name: str) -> int:
        return 0 if name in self._left_out else self._inner.get_record_offset(name)

    def get_record_header_offset(self, name: str) -> int:
        return 0 if name in self._left_out else self._inner.get_record_header_offset(name)


def is_touched(address: int, size_bytes: int) -> bool:
    """Whether any whole page of a range is in memory; what the system does not say counts as yes."""
    page = mmap.PAGESIZE
    at, end = -(-address // page) * page, (address + size_bytes) // page * page
    look = ctypes.CDLL(None).mincore
    look.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    flags = ctypes.create_string_buffer(_PAGES_AT_ONCE)
    while at < end:
        pages = min(_PAGES_AT_ONCE, (end - at) // page)
        if look(at, pages * page, flags) != 0 or any(flag & 1 for flag in flags.raw[:pages]):
            return True
        at += pages * page
    return False
