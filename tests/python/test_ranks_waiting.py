"""Nothing in a plan waits for a process that does not exist: it is answered, or one sentence says where it waits."""

import subprocess
import sys
import time

import pytest

#: A plan of these scripts takes seconds. One that waits for another process would take minutes, or for ever.
WATCHDOG_SECONDS = 100

HEAD = """
import datetime, os, sys, torch, torch.distributed as dist
torch.zeros(1, device="cuda")
LONG = datetime.timedelta(hours=1)
"""

ANSWERED = {
    "rank 0 of more than one root": """
        dist.init_process_group("nccl", timeout=LONG)
        assert dist.get_world_size() == int(os.environ["WORLD_SIZE"])
        dist.all_reduce(torch.zeros(3, device="cuda"))
    """,
    "an address": """
        dist.init_process_group("nccl", "tcp://10.1.1.1:23456", LONG, 4, 2)
        dist.barrier()
        assert (dist.get_rank(), dist.get_world_size()) == (2, 4)
    """,
    "a file": """
        dist.init_process_group("nccl", init_method="file:///nowhere/at/all", world_size=4, rank=3)
        dist.barrier()
        assert dist.get_rank() == 3
    """,
    "barriers of the host": """
        dist.init_process_group("gloo", timeout=LONG)
        dist.monitored_barrier(timeout=LONG)
        dist.barrier()
    """,
    "a barrier of a group's own, as Lightning has it": """
        dist.init_process_group("nccl", timeout=LONG)
        dist.new_group(backend="gloo", timeout=LONG).monitored_barrier()
    """,
    "arrivals that are counted": """
        store = dist.PrefixStore("mine", dist.TCPStore("localhost", 12345, 16, False, LONG))
        store.add("here", 1)
        while store.add("here", 0) < 16:
            pass
    """,
    "PyTorch's own use of a store": """
        from torch.distributed.elastic.utils import store as utilities
        utilities.barrier(dist.TCPStore("localhost", 12345, 16, False, LONG), 16, "mine")
    """,
    "what this process wrote": """
        store = dist.FileStore("/nowhere/at/all", 16)
        store.set("key", "value")
        store.wait(["key"], LONG)
        assert store.get("key") == b"value" and store.multi_get(["key"]) == [b"value"]
    """,
}

REFUSED = {
    "a key of a server": ("store = dist.TCPStore('localhost', 12345, 16, False, LONG)\nstore.get('ready')", "'ready'"),
    "a key of a file": ("dist.FileStore('/nowhere', 16).wait(['ready'], LONG)", "'ready'"),
    "a key of the job's own store": (
        "dist.init_process_group('nccl')\ndist.distributed_c10d._get_default_store().get('ready')",
        "ready'",
    ),
    "a key that is asked for again and again": (
        "store = dist.TCPStore('localhost', 12345, 16)\nwhile not store.check(['ready']): pass\nstore.get('ready')",
        "'ready'",
    ),
    "calls": ("import torch.distributed.rpc as rpc\nrpc.init_rpc('me', rank=0, world_size=16)", "rpc"),
    "the host's network": ("dist.ProcessGroupGloo(dist.TCPStore('localhost', 1, 16), 0, 16)", "waits for"),
}


def plan(oomph, *words):
    """Runs a plan that has to come to its end in time."""
    began = time.monotonic()
    try:
        done = subprocess.run(
            [str(oomph.path), "plan", "--python", sys.executable, *map(str, words)],
            capture_output=True, text=True, timeout=WATCHDOG_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        pytest.fail(f"the plan waited for {time.monotonic() - began:.0f} seconds")
    return done


@pytest.mark.parametrize("name", ANSWERED)
def test_what_can_be_answered_is(oomph, script, name):
    path = script(HEAD + "\n".join(line[8:] for line in ANSWERED[name].splitlines()))
    done = plan(oomph, "torchrun", "--nproc-per-node", "8", "--nnodes", "128", path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_answered_is_said_with_its_line(oomph, script, name):
    text, about = REFUSED[name]
    path = script(HEAD + text)
    done = plan(oomph, "torchrun", "--nproc-per-node", "8", "--nnodes", "2", path)
    assert done.returncode == 2, done.stdout
    last = [line for line in done.stderr.splitlines() if line.startswith("error:")][-1]
    line = 1 + (HEAD + text).splitlines().index(text.splitlines()[-1])
    assert f"job.py:{line} " in last and about in last, done.stderr
    assert "--ranks N" in done.stderr


def test_any_rank_of_a_thousand(oomph, script):
    path = script(
        HEAD
        + "dist.init_process_group('nccl')\n"
        + "assert [os.environ[name] for name in ('RANK', 'LOCAL_RANK', 'GROUP_RANK')] == ['777', '1', '97']\n"
        + "dist.all_reduce(torch.zeros(3, device=f'cuda:{os.environ[\"LOCAL_RANK\"]}'))\n"
    )
    done = plan(oomph, "--ranks", "777", "torchrun", "--nproc-per-node", "8", "--nnodes", "128", path)
    assert done.returncode == 0, done.stderr


def test_a_launcher_does_not_wait_for_other_machines(oomph, script):
    path = script(HEAD + "dist.init_process_group()\nassert dist.get_world_size() == 6\n")
    launcher = "-m torch.distributed.run --nnodes 3 --nproc-per-node 2 --rdzv-endpoint 10.1.1.1:1"
    command = f"'{sys.executable}' {launcher} {path}"
    done = plan(oomph, "bash", "-c", command)
    assert done.returncode == 0, done.stderr
