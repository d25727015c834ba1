"""Every third batch is malformed and raises in the middle of the forward pass; only the message is kept."""
import os
import traceback

import torch
from torch import nn

device = "cuda"


class Tabular(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(256, 1024)
        self.b = nn.Linear(1024, 8)

    def forward(self, x, groups):
        h = torch.relu(self.a(x))
        if sum(groups) != x.shape[0]:
            raise ValueError(f"groups {groups} do not sum to {x.shape[0]}")
        parts = torch.split(h, groups)
        return self.b(torch.cat([p - p.mean(0) for p in parts]))


model = Tabular().to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
problems = []
for i in range(int(os.environ.get("STEPS", 60))):
    x = torch.randn(600, 256, device=device)
    y = torch.randint(0, 8, (600,), device=device)
    groups = [100, 200, 300] if i % 3 else [100, 200, 200]
    try:
        loss = nn.functional.cross_entropy(model(x, groups), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        status = f"loss {loss.item():.4f}"
    except ValueError as e:
        problems.append((i, str(e), traceback.format_exc(limit=1)))
        status = "skipped"
    print(f"batch {i}: {status} ({len(problems)} problems)")
