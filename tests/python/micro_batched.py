"""What the tests of batches in parts share: scripts, run whole and in parts, and compared."""

from __future__ import annotations

import textwrap

import remedied

#: What all scripts begin with. Rows are counted where the model is called with a graph: the probe has none.
HEAD = """
import copy, math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x, y = torch.randn(52, 8), torch.randint(0, 4, (52,))
calls, log = [], []
def watched(model):
    model.register_forward_hook(lambda m, a, o: calls.append(len(a[0])) if torch.is_grad_enabled() else None)
    return model
model = watched(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4)))
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
crit = nn.CrossEntropyLoss()
loader = DataLoader(TensorDataset(x, y), batch_size=16)
"""
TAIL = """
RESULT = {"weights": [p.detach().clone() for p in model.parameters()], "log": log, "calls": calls}
"""
#: Five epochs of three batches and a last one of four rows: 20 steps.
PLAIN = """
for epoch in range(5):
    for a, b in loader:
        opt.zero_grad()
        loss = crit(model(a), b)
        loss.backward()
        opt.step()
"""


def script(body: str, before: str = "") -> str:
    return HEAD + textwrap.dedent(before) + textwrap.dedent(body) + TAIL


def compared(text: str, parts: int = 4, within: float = 1e-11) -> tuple[remedied.Remedied, remedied.Remedied]:
    """The plain run and the one in parts, which must be the same but for rounding."""
    plain, split = remedied.run(text), remedied.run(text, {"name": "micro_batches", "parts": parts})
    assert split.of("refused") == []
    assert len(split.of("applied")) == 1
    assert max(split.result["calls"]) == -(-max(plain.result["calls"]) // parts)
    assert sum(split.result["calls"]) == sum(plain.result["calls"])
    for key in plain.result.keys() - {"calls"}:
        assert remedied.difference(plain.result[key], split.result[key]) < within, key
    return plain, split


def refused(text: str) -> str:
    """Why the loop stays whole; the run must be bitwise the plain one."""
    plain, split = remedied.run(text), remedied.run(text, {"name": "micro_batches", "parts": 4})
    assert split.of("applied") == []
    assert remedied.difference(plain.result, split.result) == 0.0
    (why,) = split.of("refused")
    return str(why)
