"""Launchers without their agents: of the processes that a launcher would start, those that are planned are started.

PyTorch's launcher asks the other machines of the job first which of their processes has which number. None is there.
"""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from ...watching import imports

Note = Callable[[str], None]


def install(chosen: Sequence[int], note: Note) -> None:
    """Waits for the parts of torch that start processes. No `chosen` means all of this machine."""
    imports.after_import("torch.multiprocessing.spawn", lambda module: _spawn_one(module, chosen, note))
    imports.after_import("torch.distributed.launcher.api", lambda module: _launch_chosen(module, chosen))


def _spawn_one(module: ModuleType, chosen: Sequence[int], note: Note) -> None:
    """`torch.multiprocessing.spawn` runs one process only, here."""
    original = module.spawn

    @functools.wraps(original)
    def spawn(fn: Callable[..., Any], args: Any = (), nprocs: int = 1, *_rest: Any, **_kwargs: Any) -> None:
        number = chosen[0] % nprocs if chosen else 0
        note(f"process {number} of the {nprocs} that spawn() would start was planned")
        fn(number, *args)

    module.spawn = spawn
    imports.after_import("torch.multiprocessing", lambda package: setattr(package, "spawn", spawn))


def _launch_chosen(module: ModuleType, chosen: Sequence[int]) -> None:
    """What `torchrun`, `accelerate launch` and others end in."""
    original = module.launch_agent

    @functools.wraps(original)
    def launch_agent(config: Any, entrypoint: Any, args: list[Any]) -> dict[int, Any]:
        ranks = [rank for rank in chosen if rank < config.nproc_per_node * config.max_nodes]
        ranks = ranks or list(range(config.nproc_per_node if not chosen else 1))
        if callable(entrypoint):
            os.environ.update(variables(config, ranks[0]))
            return {ranks[0]: entrypoint(*args)}
        words = [_words(entrypoint, args, rank % config.nproc_per_node) for rank in ranks]
        started = [
            subprocess.Popen(command, env={**os.environ, **variables(config, rank)})
            for rank, command in zip(ranks, words, strict=True)
        ]
        failed = [code for code in (process.wait() for process in started) if code]
        if failed:
            raise SystemExit(failed[0])
        return dict.fromkeys(ranks)

    module.launch_agent = launch_agent
    imports.after_import("torch.distributed.launcher", lambda package: setattr(package, "launch_agent", launch_agent))


def _words(entrypoint: Any, args: Sequence[Any], local_rank: int) -> list[str]:
    return [str(entrypoint), *(str(arg).replace("${local_rank}", str(local_rank)) for arg in args)]


def variables(config: Any, rank: int) -> dict[str, str]:
    """What PyTorch's launcher tells a process."""
    on_machine, machines = config.nproc_per_node, config.max_nodes
    return {
        **place_variables(rank, on_machine, on_machine * machines),
        "GROUP_WORLD_SIZE": str(machines),
        "ROLE_NAME": str(config.role),
        "ROLE_WORLD_SIZE": str(on_machine * machines),
        "MASTER_ADDR": os.environ.get("MASTER_ADDR", "127.0.0.1"),
        "MASTER_PORT": os.environ.get("MASTER_PORT", "29500"),
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": str(config.max_restarts),
        "TORCHELASTIC_RUN_ID": str(config.run_id or "none"),
    }


def place_variables(rank: int, on_machine: int, world_size: int) -> dict[str, str]:
    """Which process of a job one is."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank % on_machine),
        "ROLE_RANK": str(rank),
        "GROUP_RANK": str(rank // on_machine),
        "WORLD_SIZE": str(world_size),
        "LOCAL_WORLD_SIZE": str(on_machine),
    }
