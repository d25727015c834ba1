"""A script that knows of one card, in two processes: the same weights as in one, half of the parameters in each."""

from __future__ import annotations

import os
import pickle
import socket
import textwrap
from pathlib import Path
from typing import Any

import forking
import pytest
import remedied
from remedied import Remedied, difference

HEAD = """
import os, sys
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(6), nn.Linear(6, 14), nn.Linear(14, 6)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))

class Model(nn.Module):
    def __init__(self, out=3):
        super().__init__()
        self.first, self.blocks = nn.Linear(6, 6), nn.ModuleList([Block() for _ in range(3)])
        self.head = nn.Linear(6, out)
        self.register_buffer("scale", torch.rand(1))

    def forward(self, x):
        x = self.first(x) * self.scale
        for block in self.blocks:
            x = block(x)
        return self.head(x)

def rows_seen(model):
    seen = []
    def note(module, args, out):
        if torch.is_grad_enabled():
            seen.append(len(out))
    model.first.register_forward_hook(note)
    return seen

data = TensorDataset(torch.randn(37, 6), torch.randint(0, 3, (37,)))
"""
TAIL = """
RESULT = {"weights": {name: value.double() for name, value in model.state_dict().items()}, "losses": losses,
          "seen": seen, "local": [tuple(getattr(p, "_local_tensor", p).shape) for p in model.parameters()]}
"""


def on_ranks(
    folder: Path, script: str, *beside: dict[str, Any], count: int = 2, **options: Any
) -> list[Any]:
    """Runs a script in several processes, as torchrun would start them; what each left, or its error."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path, running = folder / "script.py", []
    path.write_text(textwrap.dedent(script))
    for rank in range(count):
        out, main = folder / f"out{rank}.pickle", folder / f"main{rank}.py"
        out.unlink(missing_ok=True)
        wanted = [{"name": "fsdp", **options}, *beside]
        package = str(remedied.ROOT / "python")
        main.write_text(remedied._DRIVER.format(package=package, wanted=wanted, script=str(path), out=str(out)))
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        place |= {name: os.environ[name] for name in ["CUDA_VISIBLE_DEVICES"] if name in os.environ}
        environment = {name: str(value) for name, value in place.items()}
        running.append((out, forking.Running(main, rank, **environment)))
    ended = [(out, process.wait().err) for out, process in running]
    return [Remedied(*pickle.loads(out.read_bytes())) if out.exists() else error for out, error in ended]


LOOP = """
model = Model()
seen = rows_seen(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
losses = []
for epoch in range(2):
    for x, y in DataLoader(data, batch_size=8, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        losses.append(nn.utils.clip_grad_norm_(model.parameters(), 0.1).item())
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
"""


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    plain = remedied.run(HEAD + LOOP + TAIL)
    ranks = on_ranks(tmp_path, HEAD + LOOP + TAIL)
    for number, rank in enumerate(ranks):
        assert isinstance(rank, Remedied), rank
        assert difference(plain.result["weights"], rank.result["weights"]) < 1e-10
        assert difference(plain.result["losses"], rank.result["losses"]) < 1e-10
        # Batches of 8 and of 5.
        assert rank.result["seen"] == ([4, 4, 4, 4, 3] if number == 0 else [4, 4, 4, 4, 2]) * 2
        assert plain.result["seen"] == [8, 8, 8, 8, 5] * 2
        model, loop = rank.of("applied")
        assert (model["processes"], model["blocks"]) == (2, 3)
        assert loop["weighting"] == "items"
        assert model["own_bytes"] < 0.6 * model["parameter_bytes"]


#: Loops whose batches are divided, and what they weigh their rows by.
DIVIDED = {
    "sum": (
        """
        model = Model()
        seen, losses = rows_seen(model), []
        parameters = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.SGD([{"params": parameters[:4], "lr": 1e-2}, {"params": parameters[4:]}], lr=1e-3)
        for x, y in DataLoader(data, batch_size=8):
            loss = F.mse_loss(model(x), F.one_hot(y, 3).double(), reduction="sum")
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        """,
        "sum",
    ),
    "scaled": (
        """
        model = Model()
        seen, losses = rows_seen(model), []
        optimizer, scaler = torch.optim.AdamW(model.parameters(), lr=1e-2), torch.amp.GradScaler("cpu")
        for x, y in DataLoader(data, batch_size=8):
            loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            losses.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        """,
        "items",
    ),
    "ignored": (
        """
        class Tied(Model):
            def __init__(self):
                super().__init__(6)
                self.head.weight = self.first.weight
        model = Tied()
        seen, losses, right = rows_seen(model), [], 0
        optimizer = torch.optim.AdamW(model.named_parameters(), lr=1e-2)
        for number, (x, y) in enumerate(DataLoader(data, batch_size=8)):
            out = model(x)
            loss = F.cross_entropy(out, y, ignore_index=0, weight=torch.arange(1.0, 7.0))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            right += (out.argmax(1) == y).sum().item()
            losses += [loss.item(), float(right), out.sum().item()]
        """,
        "items",
    ),
}


@pytest.mark.parametrize("name", DIVIDED)
def test_rows_weigh_what_they_count(tmp_path: Path, name: str) -> None:
    loop, weighting = DIVIDED[name]
    script = HEAD + textwrap.dedent(loop) + TAIL
    plain = remedied.run(script)
    for rank in on_ranks(tmp_path, script):
        assert isinstance(rank, Remedied), rank
        assert difference(plain.result["weights"], rank.result["weights"]) < 1e-10
        assert difference(plain.result["losses"], rank.result["losses"]) < 1e-10
        assert rank.result["seen"][0] == 4
        assert rank.of("applied")[1]["weighting"] == weighting


#: Loops whose batches stay whole, with what is said about it.
WHOLE = {
    "contrastive": (
        """
        for x, y in DataLoader(data, batch_size=8, shuffle=True):
            out = F.normalize(model(x), dim=1)
            loss = F.cross_entropy(out @ out.T, torch.arange(len(out)))
            step(loss)
        """.replace("step(loss)", "loss.backward(); optimizer.step(); optimizer.zero_grad()"),
        "losses that compare rows",
    ),
    "no loader": (
        """
        for number in range(5):
            rows = torch.randint(0, 37, (8,))
            x, y = data[rows]
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
        "Every process computes whole batches",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_not_understood_stays_whole(tmp_path: Path, name: str) -> None:
    loop, said = WHOLE[name]
    start = "model = Model()\nseen, losses = rows_seen(model), []\noptimizer = torch.optim.AdamW(model.parameters())\n"
    script = HEAD + start + textwrap.dedent(loop) + TAIL
    plain = remedied.run(script)
    for rank in on_ranks(tmp_path, script):
        assert isinstance(rank, Remedied), rank
        assert difference(plain.result["weights"], rank.result["weights"]) < 1e-10
        assert rank.result["seen"] == plain.result["seen"]
        assert any(said in told for told in rank.of("note") + rank.of("refused"))
        assert rank.result["local"] != plain.result["local"], "parameters are divided all the same"


CHECKPOINTS = """
model = Model()
seen, losses = rows_seen(model), []
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

def train(batches):
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

train(DataLoader(data, batch_size=8))
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, PATH)
train(DataLoader(data, batch_size=8))
kept = torch.load(PATH)
model.load_state_dict(kept["model"])
optimizer.load_state_dict(kept["optimizer"])
train(DataLoader(data, batch_size=16))
model.eval()
with torch.no_grad():
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(data, batch_size=8))
losses = [float(right)]
torch.save(model.blocks[0].state_dict(), PATH + ".block")
"""


def test_checkpoints_are_whole_and_evaluation_sees_everything(tmp_path: Path) -> None:
    import torch

    def script(name: str) -> str:
        return HEAD + f"\nPATH = {str(tmp_path / name)!r}" + CHECKPOINTS + TAIL

    plain, ranks = remedied.run(script("plain.pt")), on_ranks(tmp_path, script("ranks.pt"))
    for rank in ranks:
        assert isinstance(rank, Remedied), rank
        assert difference(plain.result["weights"], rank.result["weights"]) < 1e-10
        assert plain.result["losses"] == rank.result["losses"]
        assert 4 in rank.result["seen"] and 8 in rank.result["seen"]
    one, other = torch.load(tmp_path / "plain.pt"), torch.load(tmp_path / "ranks.pt")
    assert difference(one["model"], other["model"]) < 1e-10
    states = [[{**values} for values in kept["optimizer"]["state"].values()] for kept in (one, other)]
    assert difference(*states) < 1e-10
    assert difference(*(torch.load(tmp_path / f"{name}.pt.block") for name in ("plain", "ranks"))) < 1e-10


def test_processes_without_a_seed_agree(tmp_path: Path) -> None:
    script = HEAD.replace("torch.manual_seed(0)", "torch.seed()") + LOOP + TAIL
    script = script.replace("data = Tensor", "torch.manual_seed(1)\ndata = Tensor").replace(
        "model = Model()", "torch.seed()\nmodel = Model()"
    )
    first, second = on_ranks(tmp_path, script, reshard=False)
    assert isinstance(first, Remedied) and isinstance(second, Remedied), (first, second)
    assert difference(first.result["weights"], second.result["weights"]) == 0.0
    assert difference(first.result["losses"], second.result["losses"]) == 0.0


#: Scripts that cannot be run so, with what every process says before it trains.
REFUSED = {
    "own processes": ("torch.distributed.init_process_group('gloo')", "sets up several processes itself"),
    "scalar": (
        "model = Model(); model.register_parameter('t', nn.Parameter(torch.tensor(1.0)))\n"
        "torch.optim.SGD(model.parameters())",
        "Model.t has no dimensions",
    ),
    "different data": (
        "data = TensorDataset(torch.randn(16, 6) + int(os.environ['RANK']), torch.randint(0, 3, (16,)))" + LOOP,
        "got different batches",
    ),
    "different losses": (
        "model = Model()\noptimizer = torch.optim.SGD(model.parameters())\n"
        "(model(data[:4][0] + int(os.environ['RANK'])).sum() * 3).backward()",
        "compute different losses",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_end_every_process(tmp_path: Path, name: str) -> None:
    script, why = REFUSED[name]
    for error in on_ranks(tmp_path, HEAD + script + "\nRESULT = {}\n"):
        assert isinstance(error, str), "it should not have come to its end"
        assert "NotForSeveralCards: oomph: fsdp: " in error and why in error, error


def test_a_process_that_was_started_alone_runs_as_it_was() -> None:
    plain, alone = remedied.run(HEAD + LOOP + TAIL), remedied.run(HEAD + LOOP + TAIL, {"name": "fsdp"})
    assert difference(plain.result["weights"], alone.result["weights"]) == 0.0
    assert alone.of("refused") == ["This process was started alone; torchrun starts one for each card."]


def test_other_remedies_go_with_it(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    beside: list[dict[str, Any]] = [{"name": "lora", "rank": 2}, {"name": "checkpoint_blocks"}]
    plain = remedied.run(HEAD + LOOP + TAIL, beside[0])
    for rank in on_ranks(tmp_path, HEAD + LOOP + TAIL, *beside):
        assert isinstance(rank, Remedied), rank
        assert difference(plain.result["weights"], rank.result["weights"]) < 1e-10
        assert {name for name, kind, _ in rank.told if kind == "applied"} == {"fsdp", "lora", "checkpoint_blocks"}
        assert not rank.of("refused")


def test_each_process_sees_its_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import os\nRESULT = {'card': os.environ.get('CUDA_VISIBLE_DEVICES'), 'local': os.environ['LOCAL_RANK']}"
    for cards, expected in (("4,GPU-1", [("4", "0"), ("GPU-1", "0")]), ("", [("", "0"), ("", "1")])):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", cards)
        assert [tuple(rank.result.values()) for rank in on_ranks(tmp_path, script)] == expected
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4")
    assert "There are more processes than cards: CUDA_VISIBLE_DEVICES has 1." in on_ranks(tmp_path, script)[1]


def test_batch_norms_see_whole_batches_and_parameters_may_stay_on_the_host(tmp_path: Path) -> None:
    script = (HEAD + LOOP + TAIL).replace("nn.LayerNorm(6)", "nn.BatchNorm1d(6)")
    plain = remedied.run(script)
    for rank in on_ranks(tmp_path, script, cpu_offload=True):
        assert isinstance(rank, Remedied), rank
        assert difference(plain.result["weights"], rank.result["weights"]) < 1e-10
        assert rank.result["seen"] == plain.result["seen"]
        assert "BatchNorm" in rank.of("refused")[0]
