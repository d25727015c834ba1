"""A classifier whose running loss is the tensor itself, graph and all."""

import os

import torch
import torch.nn.functional as F
from torch import nn

steps = int(os.environ.get("STEPS", 30))
device = "cuda"

model = nn.Sequential(
    nn.Linear(512, 1024),
    nn.ReLU(),
    nn.Linear(1024, 1024),
    nn.ReLU(),
    nn.Linear(1024, 10),
).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

running_loss = 0
for step in range(steps):
    x = torch.randn(512, 512).to(device)
    y = torch.randint(0, 10, (512,)).to(device)
    out = model(x)  # leak
    loss = F.cross_entropy(out, y)  # leak
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    running_loss += loss  # leak
    print(f"step {step}: loss {running_loss.item() / (step + 1):.4f}")
