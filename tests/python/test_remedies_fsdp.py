"""A script that knows of one card, in two processes: the same weights as in one, half of the parameters in each."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

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
    model.first.register_forward_hook(lambda module, args, out: seen.append(len(out)) if torch.is_grad_enabled() else None)
    return seen

data = TensorDataset(torch.randn(37, 6), torch.randint(0, 3, (37,)))
"""
TAIL = """
RESULT = {"weights": {name: value.double() for name, value in model.state_dict().items()},
          "losses": losses, "seen": seen, "local": [tuple(getattr(p, "_local_tensor", p).shape) for p in model.parameters()]}
"""


def on_ranks(folder: Path, script: str, count: int = 2, **options: Any) -> list[Any]:
    """Runs a script in several processes, as torchrun would start them; what each left, or its error."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path, running = folder / "script.py", []
    path.write_text(textwrap.dedent(script))
    for rank in range(count):
        out = folder / f"out{rank}.pickle"
        out.unlink(missing_ok=True)
        wanted = [{"name": "fsdp", **options}]
        driver = remedied._DRIVER.format(
            package=str(remedied.ROOT / "python"), wanted=wanted, script=str(path), out=str(out)
        )
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        environment = {**os.environ, **{name: str(value) for name, value in place.items()}}
        command = [sys.executable, "-c", driver]
        running.append((out, subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd=folder)))
    try:
        ended = [(out, process.communicate(timeout=90)[1]) for out, process in running]
    finally:
        for _, process in running:
            process.kill()
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
