"""Stands in for the other processes of a distributed job: one process runs, and is told that all are there.

Collectives on the card go through PyTorch's own NCCL code to the hollow NCCL; those on the host return at once. Nothing
is moved, which is all that a card without values asks of them. What the process itself allocates for them (buckets,
gathered parameters, streams) is real.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..watching import imports

Note = Callable[[str], None]
Forget = Callable[..., None]

#: Collectives after which a tensor on the card holds what other processes sent.
_COLLECTIVES = (
    "all_reduce", "all_gather", "all_gather_into_tensor", "reduce", "reduce_scatter", "reduce_scatter_tensor", "gather",
    "scatter", "all_to_all", "all_to_all_single", "recv", "irecv", "_all_gather_base", "_reduce_scatter_base",
)  # fmt: skip

_STORES: list[Any] = []
#: After this long NCCL's watchdog has looked, on a busy machine too.
_WATCHDOG_SECONDS = 0.4


def install(note: Note, forget: Forget) -> None:
    """Waits for the parts of torch that start or join processes."""
    imports.after_import("torch.distributed", lambda module: _stand_in(module, note, forget))
    imports.after_import("torch.multiprocessing.spawn", lambda module: _spawn_one(module, note))
    imports.after_import("torch.nn.parallel.distributed", lambda module: _trust_parameters(module, note))
    imports.after_import("torch.distributed.checkpoint.utils", _checkpoint_alone)
    imports.after_import("torch.distributed.checkpoint.default_planner", _trust_plans)


def _stand_in(distributed: ModuleType, note: Note, forget: Forget) -> None:
    if not distributed.is_available():
        return
    core = distributed.distributed_c10d
    original = core.init_process_group

    @functools.wraps(original)
    def init_process_group(
        backend: str | None = None, *args: Any, world_size: int = -1, rank: int = -1, **kwargs: Any
    ) -> None:
        count = world_size if world_size > 0 else int(os.environ.get("WORLD_SIZE", "1"))
        number = rank if rank >= 0 else int(os.environ.get("RANK", "0"))
        note(f"process {number} of {count} was planned; the others are stand-ins that send nothing")
        importlib.import_module("torch.testing._internal.distributed.fake_pg")
        kept = {key: value for key, value in kwargs.items() if key in ("timeout", "pg_options", "device_id")}
        # The first process only writes to the store, the others wait for what it wrote.
        store = distributed.HashStore() if number == 0 else _answering_store(distributed)
        original(_stand_in_backend(backend), store=store, world_size=count, rank=number, **kept)

    _replace("init_process_group", original, init_process_group)
    _replace("all_gather_object", core.all_gather_object, _all_gather_object)
    _replace("gather_object", core.gather_object, _gather_object)
    _replace("broadcast_object_list", core.broadcast_object_list, lambda *_args, **_kwargs: None)
    _replace("scatter_object_list", core.scatter_object_list, functools.partial(_scatter_object_list, core))
    new_group = core.new_group

    @functools.wraps(new_group)
    def new_group_of_stand_ins(ranks: Any = None, timeout: Any = None, backend: Any = None, **kwargs: Any) -> Any:
        return new_group(ranks, timeout, _stand_in_backend(backend) if backend else None, **kwargs)

    _replace("new_group", new_group, new_group_of_stand_ins)
    for name in _COLLECTIVES:
        if hasattr(core, name):
            _replace(name, getattr(core, name), _forgetting(getattr(core, name), forget))
    # Nobody else will ever arrive.
    core._store_based_barrier = lambda *_args, **_kwargs: None


def _forgetting(collective: Callable[..., Any], forget: Forget) -> Callable[..., Any]:
    @functools.wraps(collective)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = collective(*args, **kwargs)
        forget(*args, *kwargs.values())
        return result

    return call


def _stand_in_backend(backend: str | None) -> str:
    """NCCL stays what it is; what speaks over the network of the host would wait for ever."""
    name = str(backend or "").lower()
    if name in ("nccl", "fake"):
        return name
    return "fake" if name in ("gloo", "mpi", "ucc") else "cpu:fake,cuda:nccl"


def _answering_store(distributed: ModuleType) -> Any:
    """A store in which everything is there already, as zeros: as long as the name NCCL gives a group."""

    class AnsweringStore(distributed.Store):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.values: dict[str, bytes] = {}

        def set(self, key: str, value: bytes) -> None:
            self.values[key] = value

        def get(self, key: str) -> bytes:
            return self.values.get(key, bytes(128))

        def add(self, key: str, amount: int) -> int:
            total = int(self.values.get(key, b"0")) + amount
            self.values[key] = str(total).encode()
            return total

        def check(self, keys: list[str]) -> bool:
            return all(key in self.values for key in keys)

        def wait(self, *_args: Any) -> None:
            return None

        def delete_key(self, key: str) -> bool:
            return self.values.pop(key, None) is not None

    # C++ alone would keep half of it.
    _STORES.append(AnsweringStore())
    return _STORES[-1]


def _all_gather_object(object_list: list[Any], obj: Any, *_args: Any, **_kwargs: Any) -> None:
    object_list[:] = [obj] * len(object_list)


def _gather_object(obj: Any, object_gather_list: list[Any] | None = None, *_args: Any, **_kwargs: Any) -> None:
    if object_gather_list is not None:
        _all_gather_object(object_gather_list, obj)


def _scatter_object_list(
    core: ModuleType, scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
    src: int | None = None, group: Any = None, *_args: Any, **_kwargs: Any,
) -> None:  # fmt: skip
    """Who has nothing to scatter gets nothing: the process that would send it is not there."""
    if scatter_object_input_list:
        scatter_object_output_list[0] = scatter_object_input_list[core.get_rank(group)]


def _trust_parameters(module: ModuleType, note: Note) -> None:
    """DDP compares shapes with other processes by values, of which there are none."""
    module._verify_param_shape_across_processes = lambda *_args, **_kwargs: True
    _wait_for_watchdog(module.dist.Reducer, note)


def _checkpoint_alone(module: ModuleType) -> None:
    """A sharded checkpoint has the part of this process only: it would look for the others' in files that are not there."""
    original = module._DistWrapper.__init__

    @functools.wraps(original)
    def __init__(wrapper: Any, group: Any, use_dist: bool, coordinator_rank: int) -> None:
        original(wrapper, group, False, coordinator_rank)

    module._DistWrapper.__init__ = __init__


def _trust_plans(module: ModuleType) -> None:
    """The parts of a tensor do not make up the whole, since most are stand-ins'."""
    module._validate_global_plan = lambda *_args, **_kwargs: True


def _wait_for_watchdog(reducer_class: Any, note: Note) -> None:
    """DDP builds its buckets anew when its second step begins, and the old ones go once NCCL's watchdog has seen their
    work done, which it looks for every 100 ms. On a card the first step of an optimizer mostly takes that long; a plan
    has to wait for it, or two plans of one job would differ by all gradients.
    """
    rebuild, prepare = reducer_class._rebuild_buckets, reducer_class.prepare_for_backward
    # The reducers that have sent something, and of those the ones that were waited for.
    sent: set[int] = set()
    settled: set[int] = set()

    @functools.wraps(prepare)
    def prepare_for_backward(reducer: Any, *args: Any) -> None:
        sent.add(id(reducer))
        prepare(reducer, *args)

    @functools.wraps(rebuild)
    def _rebuild_buckets(reducer: Any) -> bool:
        if id(reducer) in sent - settled:
            settled.add(id(reducer))
            time.sleep(_WATCHDOG_SECONDS)
        is_rebuilt = rebuild(reducer)
        if is_rebuilt:
            note(
                "DDP built its buckets anew in the second step, and the plan had the old ones freed by then; "
                "where steps are short a real run holds both for a step: all gradients once more"
            )
        return is_rebuilt

    reducer_class.prepare_for_backward = prepare_for_backward
    reducer_class._rebuild_buckets = _rebuild_buckets


def _spawn_one(module: ModuleType, note: Note) -> None:
    """`torch.multiprocessing.spawn` runs the first process only, here."""
    original = module.spawn

    @functools.wraps(original)
    def spawn(fn: Callable[..., Any], args: Any = (), nprocs: int = 1, *_rest: Any, **_kwargs: Any) -> None:
        note(f"process 0 of the {nprocs} that spawn() would start was planned")
        fn(0, *args)

    module.spawn = spawn
    imports.after_import("torch.multiprocessing", lambda package: setattr(package, "spawn", spawn))


def _replace(name: str, old: Any, new: Any) -> None:
    """Puts `new` in the place of `old` in every part of torch that has imported it by name."""
    for path, module in list(sys.modules.items()):
        if path.startswith("torch.") and getattr(module, name, None) is old:
            setattr(module, name, new)
