"""Logs plenty: floats per step, gradient norms per layer, a histogram of the logits; all of it small."""
import os
import statistics
from collections import Counter, defaultdict

import torch
from torch import nn

device = "cuda"
logs = defaultdict(list)
hist = Counter()


class Logger:
    def log(self, **kw):
        for k, v in kw.items():
            logs[k].append(float(v))


def grad_norms(model):
    return {n: p.grad.norm().item() for n, p in model.named_parameters()}


logger = Logger()
model = nn.Sequential(nn.Linear(400, 600), nn.ReLU(), nn.Linear(600, 400), nn.ReLU(), nn.Linear(400, 20)).to(device)
opt = torch.optim.RAdam(model.parameters(), lr=1e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=5)
per_step = []

for step in range(int(os.environ.get("STEPS", 60))):
    x, y = torch.randn(300, 400, device=device), torch.randint(0, 20, (300,), device=device)
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    logger.log(loss=loss.item(), lr=opt.param_groups[0]["lr"])
    per_step.append(grad_norms(model))
    hist.update(f"{v:.1f}" for v in logits.detach().mean(1).cpu().tolist())
    plateau.step(statistics.fmean(logs["loss"][-5:]))
    print(f"{step} {logs['loss'][-1]:.4f} bins {len(hist)}")
