"""Own Trainer with callbacks; the step outputs are gathered over epochs of five steps and cleared after each."""
import os

import torch
import torch.nn.functional as F
from torch import nn

device = "cuda"


class Callback:
    def on_batch_end(self, trainer, out): ...
    def on_epoch_end(self, trainer): ...


class GatherOutputs(Callback):
    def __init__(self):
        self.logits, self.targets = [], []
        self.accuracy = []

    def on_batch_end(self, trainer, out):
        self.logits.append(out["logits"].detach())
        self.targets.append(out["target"])

    def on_epoch_end(self, trainer):
        logits, targets = torch.cat(self.logits), torch.cat(self.targets)
        self.accuracy.append((logits.argmax(-1) == targets).float().mean().item())
        self.logits.clear()
        self.targets.clear()


class Trainer:
    def __init__(self, model, callbacks, epochs, length=5):
        self.model, self.callbacks, self.epochs, self.length = model.to(device), callbacks, epochs, length
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step(self):
        x = torch.randn(256, 100, device=device)
        y = torch.randint(0, 1500, (256,), device=device)
        logits = self.model(x)
        loss = F.cross_entropy(logits, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return {"loss": loss.detach(), "logits": logits, "target": y}

    def fit(self):
        for epoch in range(self.epochs):
            for i in range(self.length):
                out = self.step()
                for cb in self.callbacks:
                    cb.on_batch_end(self, out)
                print(f"epoch {epoch} step {i} loss {out['loss'].item():.4f}")
            for cb in self.callbacks:
                cb.on_epoch_end(self)


Trainer(nn.Sequential(nn.Linear(100, 128), nn.ReLU(), nn.Linear(128, 1500)), [GatherOutputs()],
        int(os.environ.get("STEPS", 60)) // 5).fit()
