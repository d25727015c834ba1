"""A training log that is a dict of lists, in which the logits stayed tensors."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

log = {"loss": [], "lr": [], "logits": []}


class Classifier(nn.Module):
    def __init__(self, width=256, classes=2000):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.head(h)  # leak


model = Classifier().cuda()
opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
scheduler = torch.optim.lr_scheduler.StepLR(opt, 10)

for step in range(steps):
    x = torch.randn(256, 256, device="cuda")
    y = torch.randint(0, 2000, (256,), device="cuda")
    logits = model(x)  # leak
    loss = nn.functional.cross_entropy(logits, y)
    loss.backward()
    opt.step()
    opt.zero_grad()
    scheduler.step()
    log["loss"].append(loss.item())
    log["lr"].append(scheduler.get_last_lr()[0])
    log["logits"].append(logits.data)  # leak
    print(f"step {step}: {log['loss'][-1]:.4f}")
