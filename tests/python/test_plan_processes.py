"""A plan is about the process that does the work, however it was started."""

import json
import subprocess
import sys

import pytest

TRAIN = """
import os, torch
size = int(os.environ.get("SIZE", "512"))
model = torch.nn.Linear(size, size).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    model(torch.randn(8, size, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
DISTRIBUTED = """
import os, torch, torch.distributed as dist
dist.init_process_group("nccl")
assert dist.get_world_size() == 2
""" + TRAIN
SPAWNED = """
import torch.multiprocessing as mp
def work(rank):
    exec(open("train.py").read(), {"__name__": "train"})
if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""
PROCESS = """
import multiprocessing, runpy
def work():
    runpy.run_path("train.py", run_name="__main__")
if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=work)
    process.start()
    process.join()
"""
SCRUBBED = """
import subprocess, sys
subprocess.run([sys.executable, "train.py"], check=True, env={})
"""
#: The peak of `TRAIN` in bytes is at least its weights and gradients.
LEAST_BYTES = 2 * 512 * 512 * 4


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "distributed.py").write_text(DISTRIBUTED)
    (tmp_path / "run.sh").write_text(f"#!/bin/sh\nset -e\nmkdir -p out\n'{sys.executable}' train.py > out/log\n")
    (tmp_path / "run.sh").chmod(0o755)
    return tmp_path


def plan(oomph, *words):
    done = subprocess.run(
        [str(oomph.path), "plan", "--json", "--python", sys.executable, *words], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "words",
    [
        ["./run.sh"],
        ["bash", "run.sh"],
        ["bash", "-c", f"cd . && '{sys.executable}' -m torch.distributed.run --nproc-per-node 2 distributed.py"],
        ["torchrun", "--nproc-per-node", "2", "distributed.py"],
    ],
)
def test_programs_that_start_python_are_planned(oomph, project, words):
    answer = plan(oomph, *words)
    assert answer["peak_allocated_bytes"] >= LEAST_BYTES
    assert len(answer["ranks"]) == 1, "of processes that do the same one is planned"
    assert not (project / "out").exists()


def test_accelerate_launch_reads_its_own_options(oomph, project):
    pytest.importorskip("accelerate")
    answer = plan(oomph, "accelerate", "launch", "--num_processes", "1", "train.py")
    assert answer["peak_allocated_bytes"] >= LEAST_BYTES


@pytest.mark.parametrize("script", [SPAWNED, PROCESS, SCRUBBED])
def test_children_of_a_script_are_planned(oomph, project, script):
    (project / "parent.py").write_text(script)
    answer = plan(oomph, "parent.py")
    assert answer["peak_allocated_bytes"] >= LEAST_BYTES
    assert answer["steps"] >= 3


def test_all_ranks_of_a_launcher_can_be_asked_for(oomph, project):
    command = f"'{sys.executable}' -m torch.distributed.run --nproc-per-node 2 distributed.py"
    answer = plan(oomph, "--ranks", "all", "--gpus", "2", "bash", "-c", command)
    assert [part["rank"] for part in answer["ranks"]] == [0, 1]


def test_out_of_memory_in_a_child_ends_the_plan(oomph, project):
    """The parent would wait for ever."""
    (project / "parent.py").write_text(
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, 'train.py'], env={**os.environ, 'SIZE': '60000'})\n"
        "while child.poll() != 0: time.sleep(0.1)\n"
    )
    words = [str(oomph.path), "plan", "--json", "--gpu", "rtx_3080", "--python", sys.executable, "parent.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["verdict"]["class"]
