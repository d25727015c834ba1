"""`oomph plan` with real torch on a machine without a GPU: peaks as measured, categories as the model's arithmetic says."""

import json
import pathlib
import subprocess
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests"))
import accuracy  # noqa: E402

QUICK = ["mlp --batch 64", "mlp --batch 256 --width 4096 --amp bf16", "leaky-infer --steps 25 --fixed"]


MLP = """
    import torch
    from torch import nn
    net = nn.Sequential(nn.Linear(1000, 3000), nn.BatchNorm1d(3000), nn.ReLU(), nn.Linear(3000, 10)).cuda()
    opt = torch.optim.Adam(net.parameters())
    for step in range(100):
        x = torch.randn(64, 1000).cuda()
        loss = net(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, loss.item())
"""
MLP_BYTES = 4 * (1000 * 3000 + 3000 + 3000 + 3000 + 3000 * 10 + 10)


@pytest.mark.parametrize("case", [case for case in accuracy.cases() if any(q in accuracy.name(case) for q in QUICK)], ids=accuracy.name)
def test_peaks_are_what_the_card_measured(planned, case):
    plan = planned("--gpu", "h200", "--steps", "0", case["path"], *case["args"])
    assert {peak: plan[peak] for peak in accuracy.PEAKS} == {peak: case[peak] for peak in accuracy.PEAKS}
    assert (plan["outcome"], plan["capacity_bytes"]) == ("ok", case["device_total"])


def test_categories_are_the_models_own_arithmetic(planned, script):
    plan = planned("--gpu", "rtx_4090", script(MLP))
    categories = plan["categories"]
    assert sum(categories.values()) == plan["peak_allocated_bytes"]
    assert categories["parameters"] == categories["gradients"] == MLP_BYTES
    assert categories["optimizer"] == 2 * MLP_BYTES
    assert plan["peak_at"] == {"step": 1, "phase": "optimizer", "event": plan["peak_at"]["event"]}


def test_a_script_that_is_named_from_its_folder_has_the_names_python_gives_it(oomph, script):
    job = script("""
        import json, os, pathlib, torch
        os.chdir("/")
        folders = [str(pathlib.Path(__file__).parent.parent), os.path.dirname(os.path.dirname(__file__))]
        print(json.dumps([__file__, *folders, hasattr(__builtins__, "print"), __name__]))
        torch.ones(1000, device="cuda")
    """)
    done = subprocess.run(
        [oomph.path, "plan", "--show-output", "--gpu", "rtx_4090", job.name],
        cwd=job.parent, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    above = str(job.parent.parent)
    [told] = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]
    assert told == [str(job), above, above, True, "__main__"]


def test_a_script_that_only_initializes_cuda_is_told_that_nothing_lies_on_the_card(oomph, script):
    """As one does whose device is the CPU unless it is told, and whose loader pins its batches."""
    job = script("""
        import torch
        net = torch.nn.Linear(1000, 10)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for batch in torch.utils.data.DataLoader(torch.randn(64, 1000), batch_size=8, num_workers=1, pin_memory=True):
            net(batch).sum().backward()
            opt.step()
    """)
    code, out, err = oomph("plan", "--gpu", "rtx_4090", job)
    assert code == 0, err
    first = " ".join(out.split("\n\n")[0].split())
    assert first.startswith("fits the RTX 4090, but puts no tensor on it: the "), first
    assert "Live at the peak" not in out


def test_a_plan_stops_by_itself_and_leaves_nothing_behind(planned, script):
    path = script(MLP)
    plan = planned("--steps", "2", path)
    assert plan["steps"] == 2
    assert [entry.name for entry in path.parent.iterdir()] == ["job.py"]


def test_values_read_back_are_listed_with_their_line(planned, script):
    [read] = planned(script(MLP))["reads"]
    assert (pathlib.Path(read["file"]).name, read["line"], read["count"]) == ("job.py", 12, 3)


def test_what_does_not_fit_is_explained(planned, script):
    path = script(MLP.replace("torch.randn(64, 1000).cuda()", "torch.randn(6400000, 1000, device=\"cuda\")"))
    plan = planned("--memory", "8GiB", path, code=1)
    assert (plan["fits"], plan["outcome"], plan["verdict"]["class"]) == (False, "oom", "request_too_large")
    assert plan["verdict"]["line"] == 7
    assert plan["needed"]["peak_allocated_bytes"] > 8 << 30


def test_every_field_is_documented(planned, script):
    page = (ROOT / "docs/json.md").read_text()

    def keys(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from keys(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from keys(inner)

    for key in keys(planned(script(MLP))):
        assert any(spelling in page for spelling in (f"`{key}`", f'"{key}"', f".{key}`")), key


def test_other_cards_are_judged(planned, script):
    path = script(MLP.replace("torch.randn(64, 1000).cuda()", "torch.randn(1000000, 1000, device=\"cuda\")"))
    plan = planned("--gpu", "h200", "--gpu", "t4", path, code=1)
    assert [(trial["gpu"], trial["fits"]) for trial in plan["trials"]] == [("h200", True), ("t4", False)]
    assert (plan["gpu"], plan["fits"], plan["outcome"]) == ("t4", False, "oom"), "the answer is about the one that is too small"
    fits = {fit["gpu"]: fit["fits"] for fit in plan["cards"]}
    assert fits["h100_sxm"] and not fits["rtx_4090"]


def test_arguments_and_modules_reach_the_script(planned, script, tmp_path, monkeypatch):
    path = script("""
        import sys, torch
        assert sys.argv[1:] == ["--json", "-m", "x"] and __name__ == "__main__", sys.argv
        torch.zeros(1 << 20, device="cuda")
    """)
    assert planned(path, "--json", "-m", "x")["peak_allocated_bytes"] == 4 << 20
    monkeypatch.chdir(tmp_path)
    assert planned("-m", "job", "--json", "-m", "x")["peak_allocated_bytes"] == 4 << 20


def test_workers_do_not_end_the_plan(planned, script):
    plan = planned(script("""
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        data = TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
        net = torch.nn.Linear(8, 2).cuda()
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for x, y in DataLoader(data, batch_size=4, num_workers=2, pin_memory=True):
            torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
            opt.step()
    """))
    assert plan["steps"] == 3


def test_inference_ends_after_its_batches(planned, script):
    plan = planned("--batches", "2", script("""
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.Linear(512, 512)).cuda().eval()
        with torch.no_grad():
            while True:
                net(torch.randn(16, 512, device="cuda"))
    """))
    assert (plan["batches"], plan["steps"]) == (2, 0)
    assert plan["categories"]["parameters"] == 2 * 4 * (512 * 512 + 512)


def test_one_process_of_many(planned, script):
    plan = planned("torchrun", "--nproc-per-node", "4", script("""
        import os, torch, torch.distributed as dist
        dist.init_process_group("nccl")
        assert (dist.get_rank(), dist.get_world_size(), torch.cuda.device_count()) == (0, 4, 4)
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1024, 1024).cuda())
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for step in range(10):
            net(torch.randn(8, 1024, device="cuda")).sum().backward()
            opt.step()
    """))
    assert plan["steps"] >= 3
    assert plan["categories"]["parameters"] == 4 * (1024 * 1024 + 1024)
    assert any("DDP built its buckets anew" in note for note in plan["notes"])


def test_every_card_and_every_process_is_listed(planned, script):
    path = script("""
        import os, torch
        rank = int(os.environ.get("RANK", "0"))
        kept = [torch.zeros((i + rank + 1) * 5 << 20, device=f"cuda:{i}") for i in range(2)]
    """)
    plan = planned("--gpus", "2", path)
    assert [(part["device"], part["peak_allocated_bytes"] >> 20) for part in plan["devices"]] == [(0, 20), (1, 40)]
    assert (plan["device"], plan["peak_allocated_bytes"] >> 20, len(plan["ranks"])) == (1, 40, 1)
    plan = planned("--ranks", "all", "--nproc-per-node", "2", path)
    assert [(part["rank"], part["peak_allocated_bytes"] >> 20) for part in plan["ranks"]] == [(0, 40), (1, 60)]
    assert (plan["rank"], plan["peak_allocated_bytes"] >> 20) == (1, 60)


def test_checkpoints_are_not_overwritten(planned, script, tmp_path):
    (tmp_path / "weights.pt").write_text("precious")
    planned(script("""
        import pathlib, torch
        net, path = torch.nn.Linear(8, 8).cuda(), pathlib.Path(__file__).parent / "weights.pt"
        torch.save(net.state_dict(), path)
        net.load_state_dict(torch.load(path))
    """))
    assert (tmp_path / "weights.pt").read_text() == "precious"


def test_the_least_card_has_room_for_what_libraries_take(planned, script):
    job = ("torchrun", "--nproc-per-node", "2", script("""
        import torch
        torch.distributed.init_process_group("nccl")
        torch.distributed.all_reduce(torch.ones(1 << 28, device="cuda"))
    """))
    plan = planned("--gpu", "rtx_4090", *job)
    parts, least = plan["device_parts"], plan["least_memory_bytes"]
    assert parts["nccl_bytes"] > 100 << 20
    assert least == pytest.approx(plan["peak_device_bytes"], rel=0.01)
    planned("--gpu", "rtx_4090", "--memory", f"{int(1.01 * least) >> 20}MiB", *job)
    planned("--gpu", "rtx_4090", "--memory", f"{int(0.97 * least) >> 20}MiB", *job, code=1)
