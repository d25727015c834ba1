"""In-memory checkpoints by torch.save, one a step, to be able to roll back to any."""
import io
import os

import torch
from torch import nn

device = "cuda"


class RollbackManager:
    def __init__(self, model, opt):
        self.model, self.opt = model, opt
        self.blobs = {}

    def save(self, step):
        buf = io.BytesIO()
        torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(), "step": step}, buf)  # leak
        self.blobs[step] = buf.getvalue()  # leak

    def load(self, step):
        state = torch.load(io.BytesIO(self.blobs[step]))
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])


model = nn.Sequential(nn.Linear(256, 384), nn.ReLU(), nn.Linear(384, 256)).to(device)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
manager = RollbackManager(model, opt)

for step in range(int(os.environ.get("STEPS", 60))):
    x = torch.randn(64, 256, device=device)
    loss = (model(x) - x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    manager.save(step)  # leak
    print(f"step {step} loss {loss.item():.6f}, {len(manager.blobs)} checkpoints")
