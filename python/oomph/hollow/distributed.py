"""Stands in for the other processes of a distributed job: one process runs, and is told that all are there.

Collectives on the card go through PyTorch's own NCCL code to the hollow NCCL; those on the host return at once. Nothing
is moved, which is all that a card without values asks of them. What the process itself allocates for them (buckets,
gathered parameters, streams) is real.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..settings import Settings
from ..watching import imports
from .ranks import first_buckets, launching, sharded_state, stores
from .ranks.alone import NobodyThere, place_of_caller
from .ranks.collectives import Assumed
from .ranks.exchange import Exchange
from .ranks.peers import Peers
from .ranks.post import Post

Note = Callable[[str], None]
Forget = Callable[..., None]

#: Collectives after which a tensor on the card holds what other processes sent.
_COLLECTIVES = (
    "reduce", "reduce_scatter", "reduce_scatter_tensor", "gather", "scatter", "_all_gather_base",
    "_reduce_scatter_base",
)  # fmt: skip

#: The number of this process in its job, once it has joined one.
_JOINED: list[int] = []


def rank() -> int | None:
    """The number of this process in a distributed job."""
    if _JOINED:
        return _JOINED[-1]
    told = os.environ.get("RANK", "")
    return int(told) if told.isdigit() else None


def install(note: Note, following: Any, settings: Settings) -> None:
    """Waits for the parts of torch that start or join processes."""
    launching.install(settings.ranks, note)
    sharded_state.install()
    post = Post(settings.folder)
    is_launched = os.getppid() != settings.supervisor
    peers = Peers(settings.folder, post, note, has_all=is_launched and not settings.ranks)
    exchange = Exchange(post, peers, following)
    imports.after_import("torch.distributed", lambda module: _stand_in(module, note, exchange))
    imports.after_import("torch.nn.parallel.distributed", lambda module: _trust_parameters(module, note))
    imports.after_import("torch.distributed.rpc", _refuse_calls)
    imports.after_import("torch.distributed.checkpoint.utils", _checkpoint_alone)
    imports.after_import("torch.distributed.checkpoint.default_planner", _trust_plans)


def _stand_in(distributed: ModuleType, note: Note, exchange: Exchange) -> None:
    if not distributed.is_available():
        return
    core = distributed.distributed_c10d
    store_class = stores.make_class(distributed)
    stores.install(distributed, store_class, _replace)
    original = core.init_process_group
    signature = inspect.signature(original)

    @functools.wraps(original)
    def init_process_group(*args: Any, **kwargs: Any) -> None:
        asked = signature.bind(*args, **kwargs)
        asked.apply_defaults()
        told = asked.arguments
        number, count = stores.place_in_job(told.get("init_method"), told["rank"], told["world_size"])
        note(f"process {number} of {count} was planned; those that were not run are stand-ins that send nothing")
        _JOINED.append(number)
        exchange.peers.world_size = count
        exchange.post.join(number)
        importlib.import_module("torch.testing._internal.distributed.fake_pg")
        kept = {name: told[name] for name in ("timeout", "pg_options", "device_id") if told.get(name) is not None}
        backend = _stand_in_backend(told["backend"])
        original(backend, store=store_class(count), world_size=count, rank=number, **kept)

    _replace("init_process_group", original, init_process_group)
    _replace("all_gather_object", core.all_gather_object, _all_gather_object)
    _replace("gather_object", core.gather_object, _gather_object)
    exchange.install(core, _replace)
    Assumed(exchange.following, note).install(core, _replace)
    new_group = core.new_group

    @functools.wraps(new_group)
    def new_group_of_stand_ins(ranks: Any = None, timeout: Any = None, backend: Any = None, **kwargs: Any) -> Any:
        return new_group(ranks, timeout, _stand_in_backend(backend) if backend else None, **kwargs)

    _replace("new_group", new_group, new_group_of_stand_ins)
    for name in _COLLECTIVES:
        if hasattr(core, name):
            _replace(name, getattr(core, name), _forgetting(getattr(core, name), exchange.following.forget_arguments))
    # Nobody else will ever arrive.
    core._store_based_barrier = lambda *_args, **_kwargs: None
    _replace("monitored_barrier", core.monitored_barrier, lambda *_args, **_kwargs: None)
    core.ProcessGroup.monitored_barrier = lambda *_args, **_kwargs: None


def _refuse_calls(rpc: ModuleType) -> None:
    """Calls between processes go to processes that are not there."""

    def init_rpc(*_args: Any, **_kwargs: Any) -> None:
        place = place_of_caller()
        raise NobodyThere(f"{place} starts torch.distributed.rpc, which calls other processes; a plan runs none")

    rpc.init_rpc = init_rpc


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


def _all_gather_object(object_list: list[Any], obj: Any, *_args: Any, **_kwargs: Any) -> None:
    object_list[:] = [obj] * len(object_list)


def _gather_object(obj: Any, object_gather_list: list[Any] | None = None, *_args: Any, **_kwargs: Any) -> None:
    if object_gather_list is not None:
        _all_gather_object(object_gather_list, obj)


def _trust_parameters(module: ModuleType, note: Note) -> None:
    """DDP compares shapes with other processes by values, of which there are none."""
    module._verify_param_shape_across_processes = lambda *_args, **_kwargs: True
    first_buckets.install(importlib.import_module("torch._C._distributed_c10d"), module.dist.Reducer, note)


def _checkpoint_alone(module: ModuleType) -> None:
    """A sharded checkpoint has the part of this process only, and there are no files of the others to look into."""
    original = module._DistWrapper.__init__

    @functools.wraps(original)
    def __init__(wrapper: Any, group: Any, use_dist: bool, coordinator_rank: int) -> None:
        original(wrapper, group, False, coordinator_rank)

    module._DistWrapper.__init__ = __init__


def _trust_plans(module: ModuleType) -> None:
    """The parts of a tensor do not make up the whole, since most are stand-ins'."""
    module._validate_global_plan = lambda *_args, **_kwargs: True


def _replace(name: str, old: Any, new: Any) -> None:
    """Puts `new` in the place of `old` in every part of torch that has imported it by name."""
    for path, module in list(sys.modules.items()):
        if path.startswith("torch.") and getattr(module, name, None) is old:
            setattr(module, name, new)
