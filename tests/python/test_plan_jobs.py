"""`oomph plan` of ordinary scripts, each as its author wrote it: nothing is edited, nothing is left behind."""

import pathlib
import shutil
import subprocess

import pytest

JOBS = pathlib.Path(__file__).parent / "jobs"

#: Options of plan, the script, its arguments; then the optimizer steps seen.
CASES = {
    "loader_fork": (["loader_workers.py", "--start", "fork"], 3),
    "loader_spawn": (["loader_workers.py", "--start", "spawn"], 3),
    "amp_checkpointing": (["amp_checkpointing.py"], 3),
    "hf_trainer": (["hf_trainer.py"], 3),
    "lightning": (["lightning_fit.py"], 3),
    "lightning_manual": (["lightning_fit.py", "manual"], 3),
    "accelerate": (["accelerate_loop.py"], 3),
    "timm": (["timm_pieces.py"], 3),
    "peft": (["peft_lora.py"], 3),
    "mask_rcnn": (["detection.py", "maskrcnn_resnet50_fpn"], 2),
    "compile_graphs": (["compiled.py", "reduce-overhead"], 3),
    "compile_dynamic": (["compiled.py", "dynamic"], 3),
    "graphs_and_streams": (["graphs_and_streams.py"], 2),
    "own_kernels": (["--steps", "0", "own_kernels.py"], 1),
    "graph_batches": (["graph_batches.py"], 3),
    "what_card": (["--gpu", "rtx_4090", "what_card.py"], 3),
    "fsdp": (["torchrun", "--nproc-per-node", "8", "fsdp.py"], 3),
    "ddp_spawn": (["--gpus", "2", "ddp_spawn.py"], 3),
    "best_restored": (["--steps", "0", "best_restored.py"], 2),
    "safetensors_files": (["--steps", "0", "safetensors_files.py"], 1),
    "trainer_resumed": (["--steps", "0", "trainer_resumed.py"], 4),
    "lightning_best": (["--steps", "0", "lightning_best.py"], 2),
    "accelerate_state": (["--steps", "0", "accelerate_state.py"], 4),
    "fsdp_checkpoint": (["--steps", "0", "torchrun", "--nproc-per-node", "4", "fsdp_checkpoint.py"], 2),
    "batch_finders": (["--steps", "0", "--memory", "6GiB", "batch_finders.py"], 1),
    "by_hand": (["--steps", "0", "--gpus", "2", "by_hand.py"], 3),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The scripts in a folder of their own, which is the working directory."""
    shutil.copytree(JOBS, tmp_path / "jobs")
    monkeypatch.chdir(tmp_path / "jobs")
    return tmp_path / "jobs"


def contents(folder):
    """Every file with its text."""
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_ordinary_scripts_are_planned_as_they_are(planned, folder, case):
    args, steps = case
    before = contents(folder)
    plan = planned(*args)
    assert (plan["outcome"], plan["unmodelled"]) == ("ok", []) and plan["steps"] >= steps
    assert sum(plan["categories"].values()) == plan["peak_allocated_bytes"] > 0
    assert plan["categories"]["parameters"] > 0
    assert contents(folder) == before


def test_rank_0_of_8_holds_an_eighth(planned, folder):
    elements = 4 * (512 * 512 + 512)
    plan = planned("torchrun", "--nproc-per-node", "8", "fsdp.py")
    assert plan["categories"]["optimizer"] == 2 * 4 * elements // 8
    assert any("0 of 8" in note for note in plan["notes"])


def test_allocator_settings_are_honoured(planned, folder, monkeypatch):
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    plan = planned("amp_checkpointing.py")
    assert plan["steps"] >= 3 and plan["peak_reserved_bytes"] % (2 << 20) == 0


def test_standard_input_reaches_the_script(oomph, script):
    path = script("""
        import sys, torch
        kept = torch.zeros(int(input()) << 20, dtype=torch.uint8, device="cuda")
        assert sys.stdin.read() == "the rest"
    """)
    done = subprocess.run([oomph.path, "plan", path], input="64\nthe rest", capture_output=True, text=True)
    assert done.returncode == 0 and "64.00MiB" in done.stdout, done.stderr


def test_what_a_script_does_to_files_is_taken_back(oomph, script, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old/model.bin").write_text("precious")
    (tmp_path / "results.csv").write_text("first\n")
    (tmp_path / "renamed.txt").write_text("a name")
    path = script("""
        import os, pathlib, shutil, torch
        here = pathlib.Path(__file__).parent
        torch.zeros(1, device="cuda")
        os.makedirs(here / "runs/today")
        (here / "runs/today/log.txt").write_text("step 1")
        with open(here / "results.csv", "a") as results:
            results.write("second")
        os.replace(here / "renamed.txt", here / "another.txt")
        shutil.rmtree(here / "old")
        raise ValueError("and then it fails")
    """)
    before = contents(tmp_path)
    code, _, _ = oomph("plan", path)
    assert code == 2
    assert contents(tmp_path) == before
