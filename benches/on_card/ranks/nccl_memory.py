"""What NCCL takes of a card outside PyTorch's allocator, and when DDP's first buckets are freed; both on one card.

    python nccl_memory.py > nccl_memory.jsonl             one card, needs torch alone, about a minute
    python nccl_memory.py --only memory|hosts|buckets     one part of it

Every line is a JSON object; `part` says which of the three it belongs to.

`memory`: a communicator of one process. What lies outside PyTorch's allocator (`cudaMemGetInfo` less what the allocator
has reserved) before the group is made, and after each thing that is done with it.

`hosts`: several processes share the card, each told by `NCCL_HOSTID` that it is a machine of its own, since NCCL refuses
two ranks on one card of one machine. They talk over the loopback network, so buffers between cards that NVLink connects
are not in it; what a communicator of several ranks has on the card besides is.

`buckets`: DDP with one process. When the second step begins DDP replaces its buckets, and the old ones live on until
NCCL's watchdog has seen their collectives end and another collective is queued. Each line has what was allocated around
that moment, how far the watchdog was, and the peak of each step.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

MEBIBYTE = 1 << 20
#: No process takes so long on a card.
JOB_SECONDS = 20
STEPS = 4

#: Settings of NCCL under which one process is measured.
SETTINGS: dict[str, dict[str, str]] = {
    "default": {},
    "default_again": {},
    "buffer_16_mib": {"NCCL_BUFFSIZE": str(16 * MEBIBYTE)},
    "32_channels": {"NCCL_MIN_CTAS": "32", "NCCL_MAX_CTAS": "32"},
    "1_channel": {"NCCL_MAX_CTAS": "1"},
    "without_cumem": {"NCCL_CUMEM_ENABLE": "0"},
}

#: Settings of NCCL under which several processes are measured, and how many there are.
HOSTS: dict[str, tuple[int, dict[str, str]]] = {
    "2_hosts": (2, {}),
    "2_hosts_buffer_16_mib": (2, {"NCCL_BUFFSIZE": str(16 * MEBIBYTE)}),
    "2_hosts_8_channels": (2, {"NCCL_MIN_CTAS": "8", "NCCL_MAX_CTAS": "8"}),
    "4_hosts": (4, {}),
}

#: Jobs of DDP: the model, its options, and how often each is run.
BUCKETS: dict[str, tuple[dict[str, Any], int]] = {
    "small": ({}, 5),
    "small_reads_loss": ({"reads_loss": True}, 2),
    "small_sgd": ({"optimizer": "SGD"}, 2),
    "small_waits_half_a_second": ({"pause_seconds": 0.5}, 1),
    "small_bucket_view": ({"gradient_as_bucket_view": True}, 3),
    "small_with_buffers": ({"has_buffers": True}, 2),
    "wide": ({"width": 4096, "batch": 4096}, 2),
    "wide_reads_loss": ({"width": 4096, "batch": 4096, "reads_loss": True}, 2),
    "deep": ({"width": 512, "blocks": 96}, 2),
    "deep_reads_loss": ({"width": 512, "blocks": 96, "reads_loss": True}, 2),
}


def say(**told: Any) -> None:
    """One line of the answer, whole even where several processes write."""
    os.write(1, (json.dumps(told) + "\n").encode())


def outside_bytes(processes: int) -> int:
    """What of the card is taken outside PyTorch's allocator, by all that run on it; each has reserved as much."""
    import torch

    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    return total - free - processes * torch.cuda.memory_reserved()


def meet(folder: str, place: str, rank: int, count: int) -> None:
    """Waits until all processes are at a place of their work: what is told of the card is told of all of them."""
    here = pathlib.Path(folder) / place.replace(" ", "_")
    here.mkdir(exist_ok=True)
    (here / str(rank)).touch()
    while len(list(here.iterdir())) < count:
        time.sleep(0.001)


def driver_says_used_bytes() -> int | None:
    """What NVML says of the card, or nothing where it cannot be asked."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        handle, memory = ctypes.c_void_p(), (ctypes.c_ulonglong * 3)()
        library.nvmlInit_v2()
        library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
        failed = library.nvmlDeviceGetMemoryInfo(handle, memory)
    except OSError:
        return None
    return None if failed else memory[2]


def allocations_of(log_path: str) -> list[list[Any]]:
    """The lines of NCCL's log that speak of memory and channels, without what differs from call to call, with counts."""
    counts: collections.Counter[str] = collections.Counter()
    try:
        with open(log_path) as log:
            for line in log:
                text = re.sub(r"^.*?NCCL INFO ", "", line.strip())
                if re.search(r"[Aa]lloc|[Cc]hannels|buffer|Connected|via |threshold", text):
                    counts[re.sub(r"0x[0-9a-f]+|pointer \S+|\[\d+\]", "", text)[:160]] += 1
    except OSError:
        return []
    return [[text, count] for text, count in counts.most_common(120)]


def in_child(work: Callable[[], None], settings: dict[str, str], **names: Any) -> int:
    """Starts `work` in a process of its own, forked after torch is imported and before CUDA is touched."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        signal.alarm(JOB_SECONDS)
        os.environ.update(settings)
        work()
        status = 0
    except Exception as problem:  # noqa: BLE001 - the others are still worth measuring
        traceback.print_exc()
        say(**names, error=f"{type(problem).__name__}: {problem}".splitlines()[0])
    finally:
        os._exit(status)


def wait_for(children: list[int], **names: Any) -> bool:
    """Waits for processes, and says whether all ended well; a signal that ended one is told."""
    statuses = [os.waitpid(child, 0)[1] for child in children]
    for status in statuses:
        if os.WIFSIGNALED(status):
            say(**names, error=f"ended by signal {os.WTERMSIG(status)}")
    return not any(statuses)


def join(rank: int, count: int, folder: str, **options: Any) -> None:
    """Makes the group of all processes, by a file instead of a port that may be taken."""
    import torch.distributed as dist

    dist.init_process_group("nccl", init_method=f"file://{folder}/store", rank=rank, world_size=count, **options)


def communicator(name: str, folder: str, rank: int, count: int, is_eager: bool) -> None:
    """Takes the outside of the allocator apart, step by step."""
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(0)
    largest = 64 * MEBIBYTE
    # Kernels of PyTorch are loaded at their first call; what is measured below must be NCCL alone.
    sent = torch.zeros(largest, dtype=torch.uint8, device="cuda")
    received = torch.zeros(count * largest, dtype=torch.uint8, device="cuda")
    points: list[list[Any]] = []

    def point(what: str) -> None:
        torch.cuda.synchronize()
        meet(folder, f"{what}, done", rank, count)
        points.append([what, outside_bytes(count), driver_says_used_bytes()])
        meet(folder, f"{what}, measured", rank, count)

    def reduce_of(size: int, group: Any = None) -> None:
        dist.all_reduce(sent[:size], group=group)

    point("before")
    options = {"device_id": torch.device("cuda", 0)} if is_eager else {}
    join(rank, count, folder, **options)
    point("init_process_group")
    for size in (1 << 10, 1 << 20, largest):
        reduce_of(size)
        point(f"all_reduce {size}")
    dist.all_gather_into_tensor(received, sent)
    point("all_gather")
    dist.reduce_scatter_tensor(sent, received)
    point("reduce_scatter")
    dist.broadcast(sent, 0)
    point("broadcast")
    dist.all_to_all_single(received[:largest], sent)
    point("all_to_all")
    for number in (2, 3):
        group = dist.new_group(list(range(count)))
        point(f"new_group {number}")
        reduce_of(largest, group)
        point(f"all_reduce in group {number}")
    dist.barrier()
    dist.destroy_process_group()
    point("destroy_process_group")
    log = allocations_of(os.environ["NCCL_DEBUG_FILE"])
    say(part="hosts" if count > 1 else "memory", name=name, rank=rank, ranks=count, eager=is_eager, points=points, log=log)


def logging_to(folder: str, rank: int) -> dict[str, str]:
    """NCCL writes down what it allocates."""
    return {
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,ALLOC,GRAPH,NET",
        "NCCL_DEBUG_FILE": f"{folder}/log.{rank}",
    }


def measure_memory() -> None:
    """One process, one setting after the other: what lies on the card is told for all processes together."""
    for name, settings in SETTINGS.items():
        for is_eager in (False, True) if name == "default" else (False,):
            with tempfile.TemporaryDirectory() as folder:
                names = {"part": "memory", "name": name}

                def work(name: str = name, folder: str = folder, is_eager: bool = is_eager) -> None:
                    communicator(name, folder, 0, 1, is_eager)

                wait_for([in_child(work, {**settings, **logging_to(folder, 0)}, **names)], **names)


def measure_hosts() -> None:
    """Several processes on one card, each a machine of its own to NCCL; the sum of all is what `points` say."""
    for name, (count, settings) in HOSTS.items():
        with tempfile.TemporaryDirectory() as folder:
            names = {"part": "hosts", "name": name}
            children = []
            for rank in range(count):
                place = {"NCCL_HOSTID": f"host{rank}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}

                def work(name: str = name, folder: str = folder, rank: int = rank, count: int = count) -> None:
                    communicator(name, folder, rank, count, is_eager=False)

                children.append(in_child(work, {**settings, **place, **logging_to(folder, rank)}, **names))
            # Ranks that wait for one that failed take all their time: where one setting does not work, none does.
            if not wait_for(children, **names):
                return


def watchdog_is_at() -> Any:
    """The numbers of the last collective that was queued and of the last that the watchdog saw end."""
    from torch._C import _distributed_c10d as core

    try:
        told = json.loads(core._dump_nccl_trace_json(includeCollectives=False, onlyActive=False))
        status = next(iter(told["pg_status"].values()))
        return [int(status["last_enqueued_collective"]), int(status["last_completed_collective"])]
    except Exception as problem:  # noqa: BLE001 - a fact that would be good to have, no more
        return str(problem)


def make_model(width: int, blocks: int, has_buffers: bool) -> Any:
    from torch import nn

    def block() -> nn.Module:
        parts = [nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)]
        return nn.Sequential(*parts, *([nn.BatchNorm1d(width)] if has_buffers else []))

    return nn.Sequential(*[block() for _ in range(blocks)])


def buckets(
    name: str,
    folder: str,
    width: int = 1024,
    blocks: int = 6,
    batch: int = 256,
    optimizer: str = "AdamW",
    reads_loss: bool = False,
    has_buffers: bool = False,
    pause_seconds: float = 0.0,
    **options: Any,
) -> None:
    """Trains some steps; what was allocated, and how far the watchdog was, around the moment at which buckets change."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    torch.cuda.set_device(0)
    join(0, 1, folder)
    with torch.device("cuda"):
        inner = make_model(width, blocks, has_buffers)
    model = DistributedDataParallel(inner, device_ids=[0], **options)
    stepper = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-4)
    began = time.monotonic()
    points: list[list[Any]] = []

    def point(what: str) -> None:
        points.append([what, round(1000 * (time.monotonic() - began), 1), torch.cuda.memory_allocated()])

    rebuild = dist.Reducer._rebuild_buckets
    at_rebuild: list[Any] = []

    def noted_rebuild(reducer: Any) -> bool:
        point("before rebuild")
        before = watchdog_is_at() if len(at_rebuild) == 1 else None
        is_rebuilt = rebuild(reducer)
        at_rebuild.append([is_rebuilt, before])
        point("after rebuild")
        return is_rebuilt

    dist.Reducer._rebuild_buckets = noted_rebuild
    peaks = []
    for step in range(STEPS):
        torch.cuda.reset_peak_memory_stats()
        point(f"step {step}")
        loss = model(torch.randn(batch, width, device="cuda")).square().mean()
        point("forward")
        loss.backward()
        point("backward")
        stepper.step()
        point("optimizer")
        stepper.zero_grad()
        if reads_loss:
            loss.item()
        if pause_seconds:
            time.sleep(pause_seconds)
        point("end")
        peaks.append(torch.cuda.max_memory_allocated())
    torch.cuda.synchronize()
    point("synchronized")
    # As most scripts end: no group is taken down, which would wait for the watchdog.
    parameter_bytes = sum(p.numel() * p.element_size() for p in model.parameters())
    say(
        part="buckets", name=name, parameter_bytes=parameter_bytes, step_peaks=peaks,
        reserved=torch.cuda.max_memory_reserved(), rebuilt=at_rebuild, points=points,
    )  # fmt: skip


def measure_buckets(at_once: int) -> None:
    """Every job as often as asked, a few at a time: the machine must not be so busy that threads wait for a core."""
    turns = [name for name, (_, count) in BUCKETS.items() for _ in range(count)]
    while turns:
        now, turns = turns[:at_once], turns[at_once:]
        with tempfile.TemporaryDirectory() as folder:
            children = []
            for number, name in enumerate(now):
                os.mkdir(f"{folder}/{number}")

                def work(name: str = name, place: str = f"{folder}/{number}") -> None:
                    buckets(name, place, **BUCKETS[name][0])

                children.append(in_child(work, {}, part="buckets", name=name))
            wait_for(children, part="buckets", names=now)


def card() -> str | None:
    """Name and driver of the card, where the driver's own tool is there."""
    if not shutil.which("nvidia-smi"):
        return None
    words = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["memory", "hosts", "buckets"])
    parser.add_argument("--at-once", type=int, default=3, help="jobs of `buckets` that run at the same time")
    asked = parser.parse_args()
    import torch
    import torch.distributed
    import torch.nn.parallel  # noqa: F401 - slow to import: once for all

    parts = {
        "memory": measure_memory,
        "hosts": measure_hosts,
        "buckets": lambda: measure_buckets(asked.at_once),
    }
    version = ".".join(map(str, torch.cuda.nccl.version()))
    say(part="machine", torch=torch.__version__, nccl=version, card=card())
    for name, measure in parts.items():
        if asked.only in (None, name):
            began = time.monotonic()
            measure()
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)



if __name__ == "__main__":
    main()
