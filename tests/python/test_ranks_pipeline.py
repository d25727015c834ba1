"""Ranks that read what others send are run together, one of those that do the same; the worst decides."""

import json
import subprocess
import sys

import pytest

HEAD = """
import os, sys, torch, torch.distributed as dist
from torch import nn
rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl")
"""
PIPELINE = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, schedules
kind = getattr(schedules, sys.argv[1])
pipeline = init_device_mesh("cuda", (4, world_size // 4), mesh_dim_names=("stages", "copies"))["stages"]
place, has_several = pipeline.get_local_rank(), issubclass(kind, schedules.PipelineScheduleMulti)
count = 8 if has_several else 4
own = [place, 7 - place] if "ZBV" in sys.argv[1] else [place, place + 4] if has_several else [place]
def layers(at):
    # The last stage is the largest.
    return nn.Sequential(nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 4096 if at == count - 1 else 256)).to(device)
stages = [PipelineStage(layers(at), at, count, device, group=pipeline.get_group()) for at in own]
schedule = kind(stages if has_several else stages[0], 8, loss_fn=lambda output, _: output.square().mean())
optimizer = torch.optim.AdamW([weight for stage in stages for weight in stage.submod.parameters()])
for _ in range(20):
    inputs = torch.randn(32, 256, device=device)
    arguments = (inputs,) if 0 in own else ()
    told = {"target": inputs, "losses": []} if count - 1 in own else {}
    schedule.step(*arguments, **told)
    optimizer.step()
    optimizer.zero_grad()
"""
WATCHDOG_SECONDS = 150


def plan(oomph, *words):
    """Runs a plan that has to come to its end in time; returns its exit code, its answer and what it complained of."""
    words = [str(oomph.path), "plan", "--json", "--python", sys.executable, *map(str, words)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=WATCHDOG_SECONDS)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def ranks(answer):
    return [part["rank"] for part in answer["ranks"]]


@pytest.mark.parametrize(
    "schedule",
    [
        "ScheduleGPipe",
        "Schedule1F1B",
        "ScheduleInterleaved1F1B",
        "ScheduleInterleavedZeroBubble",
        "ScheduleZBVZeroBubble",
    ],
)
def test_every_stage_of_a_pipeline_is_run(oomph, script, schedule):
    code, answer, err = plan(oomph, "torchrun", "--nproc-per-node", "8", script(HEAD + PIPELINE), schedule)
    assert code == 0, err
    assert ranks(answer) == [0, 2, 4, 6], "of the two copies of each stage one is run"
    peaks = [part["peak_reserved_bytes"] for part in answer["ranks"]]
    largest = 0 if "ZBV" in schedule else 6
    assert answer["rank"] == largest and answer["peak_reserved_bytes"] == max(peaks)
    assert answer["steps"] >= 3


def test_a_stage_that_does_not_fit_decides(oomph, script):
    text = PIPELINE.replace("4096 if", "1 << 20 if")
    words = ("--memory", "4GiB", "torchrun", "--nproc-per-node", "4", script(HEAD + text), "ScheduleGPipe")
    code, answer, err = plan(oomph, *words)
    assert code == 1, err
    assert (answer["rank"], answer["outcome"]) == (3, "oom")


def test_all_ranks_of_a_pipeline_are_run_once(oomph, script):
    words = ("--ranks", "all", "torchrun", "--nproc-per-node", "4", script(HEAD + PIPELINE), "ScheduleGPipe")
    code, answer, err = plan(oomph, *words)
    assert code == 0, err
    assert ranks(answer) == [0, 1, 2, 3]


EXCHANGES = {
    "objects": """
        if rank == 0:
            dist.send_object_list(["elements", {"count": 3 << 20}], dst=1, device=device)
        elif rank == 1:
            told = [None, None]
            assert dist.recv_object_list(told, src=0, device=device) == 0
            kept = torch.empty(told[1]["count"], dtype=torch.uint8, device=device)
    """,
    "sizes": """
        sizes = torch.zeros(2, dtype=torch.int64, device=device)
        if rank == 0:
            sizes = torch.tensor([3, 1 << 20], device=device)
            operations = [dist.P2POp(dist.isend, sizes, 1)]
        else:
            operations = [dist.P2POp(dist.irecv, sizes, 0)]
        if rank < 2:
            for work in dist.batch_isend_irecv(operations):
                work.wait()
            if rank == 1:
                kept = torch.empty(sizes.tolist(), dtype=torch.uint8, device=device)
    """,
    "sizes, asked for first": """
        mine = torch.tensor([3 << 20 if rank == 0 else 1], device=device)
        theirs = torch.zeros(1, dtype=torch.int64, device=device)
        work = dist.irecv(theirs, 1 - rank)
        dist.isend(mine, 1 - rank)
        work.wait()
        if rank == 1:
            kept = torch.empty(theirs.item(), dtype=torch.uint8, device=device)
    """,
    "objects for all": """
        told = [3 << 20 if rank == 0 else None]
        dist.send_object_list(["begin"], dst=1) if rank == 0 else dist.recv_object_list([None], src=0)
        dist.broadcast_object_list(told, src=0)
        if rank == 1:
            kept = torch.empty(told[0], dtype=torch.uint8, device=device)
    """,
    "objects in parts": """
        told = [None]
        dist.scatter_object_list(told, [at * (3 << 20) for at in range(world_size)] if rank == 0 else None, src=0)
        dist.send_object_list(["begin"], dst=1) if rank == 0 else dist.recv_object_list([None], src=0)
        if rank == 1:
            kept = torch.empty(told[0], dtype=torch.uint8, device=device)
    """,
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_what_is_read_on_the_host_is_carried(oomph, script, name):
    path = script(HEAD + "\n".join(line[8:] for line in EXCHANGES[name].splitlines()))
    code, answer, err = plan(oomph, "torchrun", "--nproc-per-node", "8", path)
    assert code == 0, err
    assert ranks(answer) == [0, 1], "the other six exchange nothing with these"
    assert answer["ranks"][1]["peak_allocated_bytes"] >> 20 == 3, answer["ranks"]


def test_a_rank_that_hears_from_the_first_runs_it_too(oomph, script):
    text = "told = [8 << 20 if rank == 0 else None]\ndist.broadcast_object_list(told)\n"
    text += "torch.empty(told[0], device=device)\n"
    code, answer, err = plan(oomph, "--ranks", "3", "torchrun", "--nproc-per-node", "8", script(HEAD + text))
    assert code == 0, err
    assert ranks(answer) == [0, 3]


STUCK = {
    "all receive first": "told = [None]\ndist.recv_object_list(told, src=1 - rank)",
    "nobody sends": "told = [None]\nif rank == 0: dist.recv_object_list(told, src=1)",
    "anybody": "told = [None]\nif rank == 0: dist.recv_object_list(told)",
}


@pytest.mark.parametrize("name", STUCK)
def test_a_plan_that_would_wait_for_ever_says_where(oomph, script, name):
    text = HEAD + "torch.zeros(1, device=device)\n" + STUCK[name]
    code, _, err = plan(oomph, "torchrun", "--nproc-per-node", "2", script(text))
    assert code == 2
    last = [line for line in err.splitlines() if line.startswith("error:")][-1]
    assert f"job.py:{len(text.splitlines())} " in last and ("waits" in last or "receives" in last), err
