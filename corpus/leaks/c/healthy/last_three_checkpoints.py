"""Keeps the last three checkpoints on the card and averages them now and then."""
import copy
import os
from collections import deque

import torch
from torch import nn

device = "cuda"


class CheckpointKeeper:
    def __init__(self, keep=3):
        self.kept = deque(maxlen=keep)

    def save(self, step, model, opt):
        self.kept.append({
            "step": step,
            "model": {k: v.detach().clone() for k, v in model.state_dict().items()},
            "opt": copy.deepcopy(opt.state_dict()),
        })

    def average(self):
        n = len(self.kept)
        first = self.kept[0]["model"]
        return {k: sum(c["model"][k] for c in self.kept) / n for k in first}


model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
keeper = CheckpointKeeper()
for step in range(int(os.environ.get("STEPS", 60))):
    x = torch.randn(96, 512, device=device)
    loss = (model(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    keeper.save(step, model, opt)
    if step % 5 == 4:
        model.load_state_dict(keeper.average())
    print(f"step {step}: {loss.item():.5f}; kept {[c['step'] for c in keeper.kept]}")
