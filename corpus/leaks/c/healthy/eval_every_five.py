"""Training with an evaluation after every fifth step that gathers all its logits and summarises them."""
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda"
steps = int(os.environ.get("STEPS", 60))

val = DataLoader(TensorDataset(torch.randn(1024, 64), torch.randint(0, 800, (1024,))), batch_size=128)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 800)).to(device)
opt = torch.optim.Adam(model.parameters())
lossf = nn.CrossEntropyLoss()


def evaluate():
    model.eval()
    all_logits, all_y = [], []
    with torch.no_grad():
        for x, y in val:
            all_logits.append(model(x.to(device)).cpu().float())
            all_y.append(y)
    model.train()
    logits, y = torch.cat(all_logits), torch.cat(all_y)
    return {"nll": lossf(logits, y).item(), "acc": (logits.argmax(1) == y).float().mean().item()}


log = []
best = None
for step in range(steps):
    x, y = torch.randn(256, 64, device=device), torch.randint(0, 800, (256,), device=device)
    loss = lossf(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    row = {"step": step, "loss": loss.item()}
    if step % 5 == 0:
        row.update(evaluate())
        best = {k: v.cpu().clone() for k, v in model.state_dict().items()}
    log.append(row)
    print(row)
