"""A metric collector that keeps the probabilities of all epochs on the host; reset() is never called."""
import os

import torch
from torch import nn

device = "cuda"


class MeanAveragePrecision:
    def __init__(self, classes):
        self.classes = classes
        self.reset()

    def reset(self):
        self.probs, self.targets = [], []

    def update(self, logits, target):
        probs = logits.detach().cpu().double().sigmoid()  # leak
        self.probs.append(probs)  # leak
        self.targets.append(target.cpu())  # leak

    def compute(self, last=1):
        p = torch.cat(self.probs[-last:])
        t = torch.cat(self.targets[-last:]).double()
        return float((p * t).sum() / t.sum().clamp(min=1))


def validate(model, metric, batches):
    model.eval()
    with torch.no_grad():
        for _ in range(batches):
            x = torch.randn(256, 128, device=device)
            t = (torch.rand(256, 400, device=device) > 0.95).float()
            metric.update(model(x), t)  # leak
    model.train()
    return metric.compute(batches)


model = nn.Linear(128, 400).to(device)
metric = MeanAveragePrecision(400)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(int(os.environ.get("STEPS", 60))):
    x = torch.randn(256, 128, device=device)
    t = torch.rand(256, 400, device=device)
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), t)
    opt.zero_grad()
    loss.backward()
    opt.step()
    score = validate(model, metric, 3)  # leak
    print(f"epoch {epoch} train {loss.item():.4f} mAP {score:.4f}")
