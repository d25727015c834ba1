"""What the real job would take of the host's memory, as far as a process of the plan can tell.

Counted by the hollow library: tensors on the CPU and pinned memory, with every block, and at some moments what is
resident and which pages of them are not, because a plan leaves large tensors unfilled. Measured from the process of the
plan: everything else, less what oomph itself takes. Estimated by whoever reads this: what a real CUDA context takes.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
from typing import Any

#: More than the account takes as text.
_ACCOUNT_BYTES = 4096
_STATUS = {"VmHWM": "most_resident_bytes", "RssFile": "file_bytes", "RssAnon": "anonymous_bytes"}


class HostMemory:
    """The host's memory of this process."""

    def __init__(self) -> None:
        self._library: Any = None
        self._numbers = (ctypes.c_uint64 * 3)()
        self._is_filled = False
        #: Resident when the script's own work began: the interpreter, and what the script imports.
        self.imports_bytes: int | None = None
        #: What oomph's own code has taken.
        self.own_bytes = 0
        #: Bytes of tensors on the CPU by what they are for; of gradients those of the step that had most.
        self._tagged: dict[str, dict[int, int]] = {}
        self._gradients_bytes = 0

    def install(self, *, is_filled: bool) -> None:
        """Begins to count, once torch is imported; `is_filled` where the script computes every value."""
        library = ctypes.CDLL(None)
        if not hasattr(library, "oomph_hollow_watch_host") or not library.oomph_hollow_watch_host(int(is_filled)):
            return
        library.oomph_hollow_host_tensor.argtypes = [ctypes.c_uint64, ctypes.c_int64]
        library.oomph_hollow_host_tensor.restype = None
        library.oomph_hollow_host_tell_exit.argtypes = [ctypes.c_char_p]
        library.oomph_hollow_host_tell_exit.restype = None
        library.oomph_hollow_host.restype = ctypes.c_size_t
        library.oomph_hollow_host_heap.restype = ctypes.c_uint64
        self._is_filled = is_filled
        self._library = library

    def look(self) -> None:
        """Takes a look at what is resident now."""
        if self._library is not None:
            self._library.oomph_hollow_host_look()

    def numbers(self) -> tuple[int, int, int]:
        """What CPU tensors hold, and what they were given so far in how many blocks."""
        if self._library is None:
            return (0, 0, 0)
        self._library.oomph_hollow_host_numbers(self._numbers)
        return tuple(self._numbers)  # type: ignore[return-value]

    def heap_bytes(self) -> int:
        """What the C library gave out and did not get back. It looks at every free block, so this takes its time."""
        return 0 if self._library is None else int(self._library.oomph_hollow_host_heap())

    def note_tensor(self, address: int, size_bytes: int) -> None:
        """A tensor that PyTorch's allocator did not make; negative where it goes."""
        if self._library is not None:
            self._library.oomph_hollow_host_tensor(address, size_bytes)

    def tell_exit(self, path: str) -> None:
        """Has the most that was resident told at the very end, behind everything that Python does."""
        if self._library is not None:
            self._library.oomph_hollow_host_tell_exit(os.fsencode(path))

    def tag(self, address: int, size_bytes: int, category: str) -> None:
        """Says what a block of the host is for; the view that reaches farthest says how long it is."""
        if address:
            sizes = self._tagged.setdefault(category, {})
            sizes[address] = max(size_bytes, sizes.get(address, 0))

    def step_began(self) -> None:
        """Gradients may lie elsewhere in the next step."""
        gradients = self._tagged.pop("gradient", {})
        self._gradients_bytes = max(self._gradients_bytes, sum(gradients.values()))

    def facts(self) -> dict[str, Any] | None:
        """Everything that is known; None where nothing was counted."""
        if self._library is None:
            return None
        buffer = ctypes.create_string_buffer(_ACCOUNT_BYTES)
        self._library.oomph_hollow_host(buffer, ctypes.c_size_t(_ACCOUNT_BYTES))
        self.step_began()
        categories = {category: sum(sizes.values()) for category, sizes in self._tagged.items()}
        return {
            **json.loads(buffer.value),
            **status(),
            "is_filled": self._is_filled,
            "imports_bytes": self.imports_bytes,
            "own_bytes": self.own_bytes + _own_mapped_bytes(),
            "categories": {**categories, "gradient": self._gradients_bytes},
        }


def status() -> dict[str, int]:
    """What the kernel says of this process."""
    found = {}
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name in _STATUS:
                found[_STATUS[name]] = int(value.split()[0]) * 1024
    return found


def resident() -> tuple[int, int]:
    """What is resident of this process, and of that pages of files and shared memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = file.read().split()
    return int(pages[1]) * mmap.PAGESIZE, int(pages[2]) * mmap.PAGESIZE


def _own_mapped_bytes() -> int:
    """Resident pages of oomph's own libraries."""
    total, is_own = 0, False
    with open("/proc/self/smaps", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("Rss:"):
                total += int(line.split()[1]) * 1024 if is_own else 0
            elif "-" in line.split(" ", 1)[0]:
                is_own = "liboomph_" in line
    return total
