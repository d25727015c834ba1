"""`--fit --gpus N`: a job that knows of one card, divided over several, planned and run on hollow cards."""

import json
import sys

import pytest
from hollow_card import card
from running import recorded

#: Weights, gradients and optimizer state are what it takes; clipping keeps gradients until the step.
WIDE = """
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, width=2048, layers=12):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(layers)])
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


with torch.device("cuda"):
    model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = TensorDataset(torch.zeros(256, 2048), torch.zeros(256, dtype=torch.long))
for x, y in DataLoader(data, batch_size=64):
    loss = F.cross_entropy(model(x.cuda()), y.cuda())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""
PARAMETER_BYTES = 12 * 8 * 2048 * 2048 * 4


@pytest.fixture
def planned(oomph, tmp_path, monkeypatch):
    """Plans a script with --fit and returns exit code and what was printed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def plan(*words):
        return oomph("plan", "--python", sys.executable, "--fit", *words)

    return plan


def test_a_job_for_one_card_is_divided_planned_and_started_on_two(oomph, planned, script, tmp_path):
    path, plan_file = script(WIDE), tmp_path / "plan.json"
    code, out, err = planned("--json", "--memory", "6GiB", "--gpus", "2", "--save-plan", plan_file, path)
    assert code == 0, err
    fit = json.loads(out)["fit"]
    assert fit["fits"] and fit["gpus"] == 2 and fit["remedies"] == ["fsdp"]
    # Half of the weights, the gradients and the two moments; as it is, all of them.
    assert 2 * PARAMETER_BYTES < fit["peak_allocated_bytes"] < 3 * PARAMETER_BYTES
    assert fit["candidates"][0]["peak_allocated_bytes"] > 4 * PARAMETER_BYTES
    cards = {"OOMPH_HOLLOW_CARDS": json.dumps([card("h200"), card("h200")])}
    ran = recorded(oomph, tmp_path, path, options=["--plan", plan_file], environment=cards)
    assert ran.code == 0, ran.err
    assert "the job runs on 2 cards with fsdp" in " ".join(ran.err.split())
    assert [process["rank"] for process in ran.account["processes"]] == [0, 1]
    assert ran.account["promise"]["allocated_more_bytes"] == 0
    code, _, err = oomph("run", "--python", sys.executable, "--plan", plan_file, "torchrun", path)
    assert code == 2 and "starts a process on each of 2 cards itself" in err


def test_the_smallest_number_of_cards_is_found_by_runs(planned, script):
    code, out, err = planned("--memory", "3500MiB", script(WIDE))
    text = " ".join(out.split())
    assert code == 1 and text.startswith("nothing makes it fit the card with 3.42GiB: with "), err
    assert "It fits 4 such cards with fsdp" in text and "(--gpus 4)" in text
    assert "The job as it is, without remedies does not fit the card" in text


def test_a_job_that_cannot_be_divided_says_why_in_a_sentence(planned, script):
    both = WIDE.replace("model = Net()", "model = nn.DataParallel(Net(layers=2), device_ids=[0, 1])")
    code, out, _ = planned("--memory", "700MiB", "--gpus", "2", script(both))
    assert code == 1 and "fsdp: The script itself uses 2 cards in one process" in " ".join(out.split())
    code, _, err = planned("--gpus", "2", "torchrun", "--nproc-per-node", "4", script(WIDE))
    assert code == 2 and "2 cards do not go with 4 processes" in err
