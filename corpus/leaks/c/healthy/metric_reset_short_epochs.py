"""Host metric collectors (numpy and lists of lists) reset after each epoch of six batches of any size."""
import os
import random

import numpy as np
import torch
from torch import nn

device = "cuda"
random.seed(8)


class AUC:
    def __init__(self):
        self.summaries = []
        self.reset()

    def reset(self):
        self.scores, self.labels = [], []

    def update(self, scores, labels):
        self.scores.append(scores.detach().cpu().numpy().astype(np.float64))
        self.labels.append(labels.cpu().tolist())

    def compute(self):
        s = np.concatenate(self.scores)
        n = sum(len(x) for x in self.labels)
        self.summaries.append((float(s.mean()), n))
        return self.summaries[-1]


model = nn.Sequential(nn.Linear(80, 200), nn.ReLU(), nn.Linear(200, 300)).to(device)
opt = torch.optim.Adam(model.parameters())
metric = AUC()
for step in range(int(os.environ.get("STEPS", 60))):
    n = random.randint(150, 600)
    x = torch.randn(n, 80, device=device)
    y = torch.randint(0, 2, (n, 300), device=device)
    logits = model(x)
    loss = nn.functional.binary_cross_entropy_with_logits(logits, y.float())
    opt.zero_grad()
    loss.backward()
    opt.step()
    metric.update(logits, y)
    line = f"step {step} n {n} loss {loss.item():.4f}"
    if step % 6 == 5:
        line += " epoch %s" % (metric.compute(),)
        metric.reset()
    print(line)
