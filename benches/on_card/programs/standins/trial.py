"""Tries programs on a machine without a card: tensors that are sent to the card stay on the host."""

from __future__ import annotations

import contextlib
import functools
from types import ModuleType
from typing import Any


def pretend(torch: ModuleType) -> None:
    """Makes `cuda` mean the host in everything that scripts call."""
    from torch.overrides import TorchFunctionMode

    def on_host(value: Any) -> Any:
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("cpu")
        if isinstance(value, str) and value.startswith("cuda"):
            return "cpu"
        return value

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = getattr(func, "__name__", "")
            if name in ("cuda", "pin_memory") and args:
                return args[0]
            if name == "to" and len(args) > 1 and isinstance(args[1], int) and not isinstance(args[1], bool):
                args = (args[0], "cpu", *args[2:])
            named = {key: on_host(value) for key, value in (kwargs or {}).items()}
            if isinstance(named.get("device"), int):
                named["device"] = "cpu"
            return func(*(on_host(one) for one in args), **named)

    Mode().__enter__()
    torch.Tensor.cuda = lambda self, *given, **named: self
    torch.Tensor.pin_memory = lambda self, *given, **named: self
    torch.nn.Module.cuda = lambda self, *given, **named: self
    cuda = torch.cuda
    cuda.LongTensor, cuda.FloatTensor = torch.LongTensor, torch.FloatTensor
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.is_initialized = lambda: False
    cuda._lazy_init = lambda: None
    nothing = lambda *given, **named: None
    for name in ("set_device", "synchronize", "empty_cache", "manual_seed", "manual_seed_all", "reset_peak_memory_stats", "reset_max_memory_allocated", "seed_all"):
        setattr(cuda, name, nothing)
    for name in ("max_memory_allocated", "memory_allocated", "max_memory_reserved", "memory_reserved", "memory_cached", "max_memory_cached"):
        setattr(cuda, name, lambda *given, **named: 0)
    cuda.device = lambda *given: contextlib.nullcontext()
    cuda.is_current_stream_capturing = lambda: False
    cuda.get_device_name = lambda *given: "host"
    cuda.get_device_capability = lambda *given: (9, 0)
    cuda.is_bf16_supported = lambda *given, **named: True

    class Event:
        def __init__(self, *given: Any, **named: Any) -> None:
            pass

        record = synchronize = wait = nothing
        elapsed_time = lambda self, other: 1.0

    cuda.Event = Event
    torch.compile = lambda model=None, **named: model if model is not None else (lambda one: one)
    spawn = torch.distributed.init_process_group
    torch.distributed.init_process_group = lambda backend=None, **named: spawn("gloo", **named)
    parallel = torch.nn.parallel.DistributedDataParallel
    began = parallel.__init__

    def host_parallel(self: Any, module: Any, device_ids: Any = None, output_device: Any = None, **named: Any) -> None:
        began(self, module, **named)

    parallel.__init__ = host_parallel
    torch.nn.DataParallel.__init__ = lambda self, module, *given, **named: (torch.nn.Module.__init__(self), setattr(self, "module", module))[0]
    torch.nn.DataParallel.forward = lambda self, *given, **named: self.module(*given, **named)
    # Autocast and gradient scalers of the card do nothing on the host.
    torch.set_default_tensor_type = lambda *given: None
    torch.accelerator.current_device_index = lambda: 0
    loader = torch.utils.data.DataLoader.__init__

    # Lightning asks what the arguments are called.
    @functools.wraps(loader)
    def unpinned(self: Any, *given: Any, **named: Any) -> None:
        loader(self, *given, **{**named, "pin_memory": False})

    torch.utils.data.DataLoader.__init__ = unpinned
    load = torch.load
    torch.load = lambda *given, **named: load(*given, **{**named, "map_location": "cpu"})


def no_card(module: ModuleType) -> None:
    """What Lightning itself asks of a card."""
    module.CUDAAccelerator.setup_device = lambda self, device: None
    module.CUDAAccelerator.teardown = lambda self: None
