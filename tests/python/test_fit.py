"""`--fit`, `--max` and `--plan`: a job that does not fit, made to fit, planned and run on a hollow card."""

import json
import os
import re
import subprocess
import sys

import pytest
from running import recorded

#: Logits, blocks and optimizer steps: each is the peak once the one before it is gone.
LANGUAGE_MODEL = """
import argparse
import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=16)
args = parser.parse_args()


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, width=512, layers=8, vocabulary=16384):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(layers)])
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, x):
        return self.head(self.blocks(self.embed(x)))


def main():
    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(6):
        x = torch.randint(0, 16384, (args.batch, 256), device="cuda")
        loss = F.cross_entropy(model(x).flatten(0, 1), x.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
"""

#: A loop that people really write: outputs are kept, and with each its whole graph.
KEEPS_OUTPUTS = """
import torch
from torch import nn
net = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
net = net.cuda().eval()
outputs = []
for image in range(10_000):
    outputs.append(net(torch.randn(1, 3, 300, 300, device="cuda")))
"""

#: Trained with small batches and validated with large ones, which are the peak; each epoch keeps a little of them.
LARGE_VALIDATION = """
import torch
from torch import nn
net = nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.BatchNorm2d(32),
                    nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
images = torch.utils.data.TensorDataset(torch.zeros(640, 3, 128, 128))
for epoch in range(3):
    net.train()
    for (x,) in torch.utils.data.DataLoader(images, batch_size=8):
        optimizer.zero_grad()
        net(x.cuda()).sum().backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        found = [net(x.cuda()) for (x,) in torch.utils.data.DataLoader(images, batch_size=320)]
"""

#: PyTorch has taken the card when cuBLAS wants memory of its own, at the first product.
LIBRARY_LAST = """
import torch
free_bytes, _ = torch.cuda.mem_get_info()
held = torch.zeros(free_bytes - (8 << 20), dtype=torch.uint8, device="cuda")
torch.ones(64, 64, device="cuda") @ torch.ones(64, 64, device="cuda")
"""


@pytest.fixture
def fitted(oomph, tmp_path, monkeypatch):
    """Plans a script with --fit and returns exit code and JSON."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def plan(path, *options, words=()):
        code, out, err = oomph("plan", "--python", sys.executable, "--json", "--fit", *options, path, *words)
        assert code in (0, 1), err
        return code, json.loads(out)

    return plan


def test_what_is_chosen_fits_from_scratch(oomph, fitted, script, tmp_path):
    path, plan_file = script(LANGUAGE_MODEL), tmp_path / "plan.json"
    code, answer = fitted(path, "--memory", "1700MiB", "--save-plan", plan_file)
    assert code == 0 and not answer["fits"], "only with remedies"
    fit = answer["fit"]
    assert fit["fits"] and {"lazy_logits", "checkpoint_blocks"} <= set(fit["remedies"])
    assert fit["peak_device_bytes"] <= 1700 << 20 and 1.0 < fit["predicted_slowdown"] < 2.0
    # The first is the job as it is, and no more are run than the usual answer takes.
    assert fit["candidates"][0]["remedies"] == [] and len(fit["candidates"]) <= 5
    assert fit["candidates"][0]["peak_allocated_bytes"] > fit["peak_allocated_bytes"]
    again = ["plan", "--python", sys.executable, "--json", "--memory", "1700MiB", "--plan", plan_file, path]
    code, out, err = oomph(*again)
    assert code == 0, err
    assert json.loads(out)["peak_allocated_bytes"] == fit["peak_allocated_bytes"]


def test_a_job_that_fits_is_left_alone(fitted, script):
    code, answer = fitted(script(LANGUAGE_MODEL), "--memory", "8GiB")
    assert (code, answer["fits"], answer["fit"]["remedies"]) == (0, True, [])


def test_what_nothing_makes_fit_is_said(oomph, script, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    words = ["plan", "--python", sys.executable, "--fit", "--memory", "1GiB", script(LANGUAGE_MODEL)]
    code, out, _ = oomph(*words)
    text = " ".join(out.split())
    assert code == 1 and text.startswith("nothing makes it fit the card with 1.00GiB: with "), out
    assert re.search(r"it still needs a card of [\d.]+GiB, [\d.]+[GM]iB more than there is\. The smallest GPU that", text), text


def test_what_remedies_keep_on_the_host_is_not_read_by_the_script(oomph, script):
    """Steps in backward copy optimizer state on autograd's thread, where no line of the script is to be seen."""
    remedies = ["--with", "optimizer_on_host", "--with", "step_in_backward"]
    code, out, err = oomph("plan", "--python", sys.executable, "--json", *remedies, script(LANGUAGE_MODEL))
    assert code == 0, err
    answer = json.loads(out)
    assert answer["reads"] == [] and not answer["values"], "nothing is to be worked out for it"


def test_validation_is_made_to_fit_like_training(fitted, script):
    code, answer = fitted(script(LARGE_VALIDATION), "--memory", "1800MiB")
    assert code == 0 and not answer["fits"], "only with remedies"
    assert answer["fit"]["remedies"] == ["chunk_evaluation"] and answer["fit"]["predicted_slowdown"] < 1.1


def test_a_library_that_gets_no_memory_is_a_shortage_too(oomph, script):
    code, out, err = oomph("plan", "--python", sys.executable, "--json", "--memory", "4GiB", script(LIBRARY_LAST))
    assert code == 1, err
    answer = json.loads(out)
    assert (answer["outcome"], answer["verdict"]["class"]) == ("oom", "outside_pytorch")
    assert "CUBLAS_STATUS_ALLOC_FAILED" in answer["verdict"]["summary"]


def test_growth_is_stopped(fitted, script):
    code, answer = fitted(script(KEEPS_OUTPUTS), "--memory", "4GiB")
    assert code == 0 and answer["growth"]["bytes_per_iteration"] > 1 << 20
    assert "recompute_unused_graphs" in answer["fit"]["remedies"]


def test_what_a_loop_keeps_by_design_is_part_of_the_promise(oomph, script):
    remedied = ["--with", "recompute_unused_graphs", "--memory", "4GiB"]
    code, out, err = oomph("plan", "--python", sys.executable, "--json", *remedied, script(KEEPS_OUTPUTS))
    assert code == 0, err
    kept = json.loads(out)["kept_until_end"]
    assert (kept["bytes_per_iteration"], kept["total_iterations"]) == (512, 10_000), "an output of 64 numbers, in its block"
    assert 3 << 20 < kept["bytes"] <= 512 * 10_000


def test_the_diff_is_the_same_in_the_users_own_script(oomph, script, tmp_path, monkeypatch):
    path = script(LANGUAGE_MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    memory = ["--memory", "1900MiB"]
    code, diff, err = oomph("plan", "--python", sys.executable, "--fit", *memory, "--emit", "diff", path)
    assert code == 0 and "+    oomph.checkpoint_blocks(model" in diff, err
    assert subprocess.run(["patch", "-p1"], input=diff, text=True, cwd=tmp_path).returncode == 0
    code, out, err = oomph("plan", "--python", sys.executable, "--json", *memory, path)
    assert (code, json.loads(out)["fits"]) == (0, True), err


def test_the_largest_batch_is_found(oomph, script):
    words = ["plan", "--python", sys.executable, "--memory", "3GiB"]
    path = script(LANGUAGE_MODEL)
    code, out, err = oomph(*words, "--max", "batch", "--json", path, "--batch", "4")
    assert code == 0, err
    largest = json.loads(out)["largest"]
    assert largest["value"] > 4 and largest["runs"] <= 8
    for batch, fits in ((largest["value"], 0), (largest["too_much"] * 11 // 10 + 1, 1)):
        assert oomph(*words, path, "--batch", batch)[0] == fits, batch
    code, _, err = oomph(*words, "--max", "width", path, "--batch", "4")
    assert code == 2 and "no --width with a number" in err


def test_the_run_is_what_the_plan_promised(oomph, script, tmp_path):
    ran = recorded(oomph, tmp_path, script(LANGUAGE_MODEL), options=["--fit", "--limit", "1200MiB"])
    assert ran.code == 0, ran.err
    assert "the job runs with lazy_logits" in " ".join(ran.err.split())
    promise = ran.account["promise"]
    assert promise["fits"] and promise["allocated_more_bytes"] == 0
    assert ran.account["peak_reserved_bytes"] <= 1200 << 20
    assert ran.account["step"]["plain_ms"] is None and "of which no run is known" in " ".join(ran.err.split())
    # The second time nothing is planned again, and the time is compared with that of a run as it is.
    plain = recorded(oomph, tmp_path, script(LANGUAGE_MODEL))
    assert plain.account["step"]["median_ms"] > 0 and plain.account["step"]["promised_slowdown"] is None
    again = recorded(oomph, tmp_path, script(LANGUAGE_MODEL), options=["--fit", "--limit", "1200MiB"])
    assert again.code == 0 and "planning" not in again.err
    assert again.account["step"]["plain_ms"] == plain.account["step"]["median_ms"]
    assert "times was promised" in " ".join(again.err.split())


def test_what_is_no_plan_is_refused_before_anything_is_started(oomph, script, tmp_path):
    path = script("open('started', 'w')")
    for text in ("", "[]", '{"remedies": 3}'):
        plan = tmp_path / "plan.json"
        plan.write_text(text)
        code, _, err = oomph("run", "--python", sys.executable, "--plan", plan, path)
        assert code == 2 and "is no plan of oomph's" in err
    assert not os.path.exists("started") and not (tmp_path / "started").exists()
