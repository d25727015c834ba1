"""Keeps values that nobody will read from being computed: large weights and data on the host stay untouched.

`oomph plan` starts the interpreter with a fixed threshold for memory maps, so every large host tensor is fresh
address space that reads as zeros and takes no memory until it is written. Left out here is what would write it:
random numbers, initialisation, conversions. Only large floating-point tensors on the CPU are concerned; everything on
the card, every index, mask and small tensor is computed as always. Random data is computed up to some hundred megabytes:
a script may look at it. What is larger than the machine's memory is mapped without the system's promise to back it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import mmap
import os
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .drawing import Draws
from .hostmemory import HostMemory

#: Host tensors from this size on are left alone. Not below the threshold for memory maps that `oomph plan` sets.
LARGE_BYTES = 1 << 20

#: Random data is computed up to this size, and up to that much in all.
LARGE_DATA_BYTES, DATA_BUDGET_BYTES = 64 << 20, 256 << 20
#: Methods that fill a tensor in place with values of no consequence, and what they draw.
_FILLERS = {"normal_": "normal", "uniform_": "uniform", "erfinv_": None}
#: Methods that fill a tensor with one number: left out where the machine has not the memory.
_HUGE_FILLERS = ("fill_", "zero_")
#: What the functions of `torch.nn.init` draw, those that draw.
_INITIALIZERS = {
    "uniform_": "uniform", "xavier_uniform_": "uniform", "kaiming_uniform_": "uniform", "trunc_normal_": "uniform",
    "normal_": "normal", "xavier_normal_": "normal", "kaiming_normal_": "normal", "orthogonal_": "normal",
}  # fmt: skip
#: Not in Python before 3.13.
_MAP_NORESERVE = 0x4000
#: Methods that make a converted copy.
_CONVERSIONS = ("float", "double", "half", "bfloat16")
#: Functions that make a tensor of random numbers or of one number, and what they draw.
_FACTORIES = {
    "rand": "uniform", "rand_like": "uniform", "randn": "normal", "randn_like": "normal", "zeros": None,
    "zeros_like": None, "empty": None, "ones": None, "full": None,
}  # fmt: skip
#: Those that are computed wherever the machine can: their values may decide about something.
_MADE_IF_POSSIBLE = ("empty", "ones", "full")


def install(torch: ModuleType, draws: Draws, host: HostMemory, *, is_complete: bool = False) -> Shortcuts:
    """Puts the short cuts in place; `is_complete`: only those without which the machine's memory would not do."""
    short = Shortcuts(torch, draws, host)
    if is_complete:
        short.large_bytes = short.large_data_bytes = short.data_left_bytes = short.huge_bytes
    # `with torch.device(...)` knows functions by their identity and remembers them from its first use on.
    importlib.import_module("torch.utils._device")._device_constructors()
    for name in _HUGE_FILLERS:
        setattr(torch.Tensor, name, short.huge_filler(getattr(torch.Tensor, name)))
    for name, draw in _FILLERS.items():
        setattr(torch.Tensor, name, short.filler(getattr(torch.Tensor, name), draw))
    for name, function in inspect.getmembers(torch.nn.init, inspect.isfunction):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, short.initializer(function, _INITIALIZERS.get(name)))
    for name in _CONVERSIONS:
        setattr(torch.Tensor, name, short.conversion(getattr(torch.Tensor, name), getattr(torch, name)))
    torch.Tensor.to = short.to(torch.Tensor.to)
    for name, draw in _FACTORIES.items():
        replacement = short.factory(getattr(torch, name), draw, is_made=name in _MADE_IF_POSSIBLE)
        # TorchScript knows functions by their identity.
        torch.jit._builtins._register_builtin(replacement, "aten::" + name)
        setattr(torch, name, replacement)
    return short


class Shortcuts:
    """The short cuts, each around the original it falls back to."""

    def __init__(self, torch: ModuleType, draws: Draws, host: HostMemory) -> None:
        self.torch = torch
        self.draws = draws
        self.host = host
        self.large_bytes, self.large_data_bytes, self.data_left_bytes = LARGE_BYTES, LARGE_DATA_BYTES, DATA_BUDGET_BYTES
        #: From here on the system may refuse to promise the memory.
        self.huge_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        self.plain_types = (torch.Tensor, torch.nn.Parameter)
        self.is_tracing = torch.jit.is_tracing

    def is_large(self, tensor: Any) -> bool:
        """Whether a tensor's values are too many to be worth computing."""
        return (
            type(tensor) in self.plain_types
            and not self.is_tracing()
            and tensor.device.type == "cpu"
            and tensor.is_floating_point()
            and tensor.numel() * tensor.element_size() >= self.large_bytes
            and not self.torch._C._len_torch_dispatch_stack()
        )

    def filler(self, original: Callable[..., Any], draw: str | None) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(self_tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.is_large(self_tensor):
                return original(self_tensor, *args, **kwargs)
            if draw is not None:
                self.draws.skip(draw, self_tensor, kwargs.get("generator"))
            return self_tensor

        return method

    def initializer(self, original: Callable[..., Any], draw: str | None) -> Callable[..., Any]:
        fill = self.filler(original, draw)

        # Called by the name of its argument too.
        @functools.wraps(original)
        def function(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            return fill(tensor, *args, **kwargs)

        return function

    def huge_filler(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(self_tensor: Any, *args: Any, **kwargs: Any) -> Any:
            size_bytes = self_tensor.numel() * self_tensor.element_size()
            if size_bytes >= self.huge_bytes and self_tensor.device.type == "cpu" and type(self_tensor) in self.plain_types:
                return self_tensor
            return original(self_tensor, *args, **kwargs)

        return method

    def conversion(self, original: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(self_tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if not args and not kwargs and self.may_skip_copy(self_tensor) and self_tensor.dtype != dtype:
                return self.blank(self.torch.empty_like(self_tensor, dtype=dtype, device="meta"))
            return original(self_tensor, *args, **kwargs)

        return method

    def may_skip_copy(self, tensor: Any) -> bool:
        """Whether a converted copy needs no values: autograd does not watch, and there are too many of them."""
        watched = tensor.requires_grad and self.torch.is_grad_enabled()
        return self.is_large(tensor) and not watched

    def to(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`Tensor.to` between types of numbers: on the way to the card the host would convert everything first."""
        parse = self.torch._C._nn._parse_to

        @functools.wraps(original)
        def method(self_tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.may_skip_copy(self_tensor) or "other" in kwargs or (args and hasattr(args[0], "dtype")):
                return original(self_tensor, *args, **kwargs)
            try:
                wanted = {key: value for key, value in kwargs.items() if key != "copy"}
                device, dtype, _, memory_format = parse(*args[:3], **wanted)
            except (TypeError, RuntimeError):
                return original(self_tensor, *args, **kwargs)
            if dtype is None or dtype == self_tensor.dtype or not dtype.is_floating_point:
                return original(self_tensor, *args, **kwargs)
            keep = self.torch.preserve_format
            device = self_tensor.device if device is None else device
            if device.type == "cuda" and device.index is None:
                device = self.torch.device("cuda", self.torch.cuda.current_device())
            options = {"dtype": dtype, "requires_grad": False, "memory_format": memory_format or keep}
            if device.type == "cpu":
                return self.blank(self.torch.empty_like(self_tensor, device="meta", **options))
            return self.torch.empty_like(self_tensor, device=device, **options)

        return method

    def factory(self, original: Callable[..., Any], draw: str | None, *, is_made: bool) -> Callable[..., Any]:
        """Makes the tensor on no device first: that is the one way to learn its size and type without its values."""
        is_compiling = self.torch.compiler.is_compiling

        @functools.wraps(original)
        def function(*args: Any, **kwargs: Any) -> Any:
            # Under torch.compile and torch.jit.trace this must look like the original and nothing else.
            if not is_compiling() and not self.is_tracing() and self.may_be_large(args, kwargs) and self.is_on_host(args, kwargs):
                return self.untouched(original, args, kwargs, draw, is_made=is_made)
            return original(*args, **kwargs)

        return function

    def may_be_large(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """A quick look at the sizes, so that small tensors pay nothing; what is no plain number is somebody's tracing."""
        first = args[0] if args else kwargs.get("size", kwargs.get("input"))
        if type(first) in self.plain_types:
            return bool(first.numel() * 8 >= LARGE_BYTES)
        count = 1
        for size in first if isinstance(first, (list, tuple)) else args:
            if type(size) is not int:
                return False
            count *= size
        return count * 8 >= LARGE_BYTES

    def is_on_host(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        device = kwargs.get("device")
        if device is None and args and isinstance(args[0], self.torch.Tensor):
            device = args[0].device
        device = self.torch.get_default_device() if device is None else self.torch.device(device)
        plain = "out" not in kwargs and "layout" not in kwargs and not kwargs.get("pin_memory")
        return bool(device.type == "cpu") and plain and not self.torch._C._len_torch_dispatch_stack()

    def untouched(
        self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], draw: str | None, *, is_made: bool
    ) -> Any:
        without_generator = {key: value for key, value in kwargs.items() if key != "generator"}
        sketch = original(*args, **{**without_generator, "device": "meta"})
        size_bytes = sketch.numel() * sketch.element_size()
        if size_bytes < (self.huge_bytes if is_made or not sketch.is_floating_point() else self.large_bytes):
            return original(*args, **kwargs)
        if draw is not None:
            if size_bytes <= min(self.large_data_bytes, self.data_left_bytes):
                self.data_left_bytes -= size_bytes
                return original(*args, **kwargs)
            self.draws.skip(draw, sketch, kwargs.get("generator"))
        return self.blank(sketch)

    def blank(self, sketch: Any) -> Any:
        """A tensor on the host as a sketch describes it, which takes memory only where it is written."""
        size_bytes = sketch.untyped_storage().nbytes()
        if size_bytes < self.huge_bytes:
            return self.torch.empty_strided(
                sketch.size(), sketch.stride(), dtype=sketch.dtype, device="cpu", requires_grad=sketch.requires_grad
            )
        tensor = self.mapped(size_bytes, sketch.dtype).as_strided(sketch.size(), sketch.stride())
        return tensor.requires_grad_(sketch.requires_grad)

    def mapped(self, size_bytes: int, dtype: Any, file: int = -1) -> Any:
        """A flat tensor of a file's bytes, or of zeros, which takes memory only where it is written."""
        flags = mmap.MAP_PRIVATE | _MAP_NORESERVE | (mmap.MAP_ANONYMOUS if file < 0 else 0)
        whole_bytes = math.ceil(size_bytes / mmap.PAGESIZE) * mmap.PAGESIZE if file < 0 else size_bytes
        mapping = mmap.mmap(file, whole_bytes, flags=flags)
        tensor = self.torch.frombuffer(mapping, dtype=dtype)
        self.host.note_tensor(tensor.data_ptr(), whole_bytes)
        weakref.finalize(mapping, self.host.note_tensor, tensor.data_ptr(), -whole_bytes).atexit = False
        return tensor
