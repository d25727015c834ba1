"""Keeps values that nobody will read from being computed: large weights and data on the host stay untouched.

`oomph plan` starts the interpreter with a fixed threshold for memory maps, so every large host tensor is fresh
address space that reads as zeros and takes no memory until it is written. Left out here is what would write it:
random numbers, initialisation, conversions. Only large floating-point tensors on the CPU are concerned; everything on
the card, every index, mask and small tensor is computed as always.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

#: Host tensors from this size on are left alone. Not below the threshold for memory maps that `oomph plan` sets.
LARGE_BYTES = 1 << 20

#: Methods that fill a tensor in place with values of no consequence.
_FILLERS = ("normal_", "uniform_", "exponential_", "log_normal_", "cauchy_", "erfinv_")
#: Methods that make a converted copy.
_CONVERSIONS = ("float", "double", "half", "bfloat16")
#: Functions that make a tensor of random numbers or zeros.
_FACTORIES = ("rand", "randn", "zeros", "rand_like", "randn_like", "zeros_like")


def install(torch: ModuleType) -> None:
    """Puts the short cuts in place."""
    short = _Shortcuts(torch)
    for name in _FILLERS:
        setattr(torch.Tensor, name, short.filler(getattr(torch.Tensor, name)))
    for name, function in inspect.getmembers(torch.nn.init, inspect.isfunction):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, short.initializer(function))
    for name in _CONVERSIONS:
        setattr(torch.Tensor, name, short.conversion(getattr(torch.Tensor, name), getattr(torch, name)))
    torch.Tensor.to = short.to(torch.Tensor.to)
    for name in _FACTORIES:
        replacement = short.factory(getattr(torch, name))
        # TorchScript knows functions by their identity.
        torch.jit._builtins._register_builtin(replacement, "aten::" + name)
        setattr(torch, name, replacement)


class _Shortcuts:
    """The short cuts, each around the original it falls back to."""

    def __init__(self, torch: ModuleType) -> None:
        self.torch = torch
        self.plain_types = (torch.Tensor, torch.nn.Parameter)
        self.is_tracing = torch.jit.is_tracing

    def is_large(self, tensor: Any) -> bool:
        """Whether a tensor's values are too many to be worth computing."""
        return (
            type(tensor) in self.plain_types
            and not self.is_tracing()
            and tensor.device.type == "cpu"
            and tensor.is_floating_point()
            and tensor.numel() * tensor.element_size() >= LARGE_BYTES
            and not self.torch._C._len_torch_dispatch_stack()
        )

    def filler(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(self_tensor: Any, *args: Any, **kwargs: Any) -> Any:
            return self_tensor if self.is_large(self_tensor) else original(self_tensor, *args, **kwargs)

        return method

    def initializer(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def function(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            return tensor if self.is_large(tensor) else original(tensor, *args, **kwargs)

        return function

    def conversion(self, original: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(self_tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if not args and not kwargs and self.may_skip_copy(self_tensor) and self_tensor.dtype != dtype:
                return self.torch.empty_like(self_tensor, dtype=dtype)
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
            return self.torch.empty_like(
                self_tensor, dtype=dtype, device=device, requires_grad=False, memory_format=memory_format or keep
            )

        return method

    def factory(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Makes the tensor on no device first: that is the one way to learn its size and type without its values."""
        is_compiling = self.torch.compiler.is_compiling

        @functools.wraps(original)
        def function(*args: Any, **kwargs: Any) -> Any:
            # Under torch.compile and torch.jit.trace this must look like the original and nothing else.
            if not is_compiling() and not self.is_tracing() and self.may_be_large(args, kwargs) and self.is_on_host(args, kwargs):
                return self.untouched(original, args, kwargs)
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

    def untouched(self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        without_generator = {key: value for key, value in kwargs.items() if key != "generator"}
        sketch = original(*args, **{**without_generator, "device": "meta"})
        size_bytes = sketch.numel() * sketch.element_size()
        if size_bytes < LARGE_BYTES or not sketch.is_floating_point():
            return original(*args, **kwargs)
        return self.torch.empty_strided(
            sketch.size(), sketch.stride(), dtype=sketch.dtype, device="cpu", requires_grad=sketch.requires_grad
        )
