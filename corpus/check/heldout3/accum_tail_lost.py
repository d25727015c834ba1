from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Opts:
    lr: float = 5e-5
    epochs: int = 3
    grad_accum: int = 8
    device: str = "cuda"


class Finetuner:
    def __init__(self, model: nn.Module, opts: Opts):
        self.opts = opts
        self.model = model.to(opts.device)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=opts.lr)
        self.step = 0

    def micro_step(self, batch):
        batch = {k: v.to(self.opts.device) for k, v in batch.items()}
        loss = self.model(**batch).loss / self.opts.grad_accum
        loss.backward()
        return loss.item()

    def fit(self, loader):
        for epoch in range(self.opts.epochs):
            self.model.train()
            self.optimizer.zero_grad()
            acc = 0.0
            for i, batch in enumerate(loader, start=1):
                acc += self.micro_step(batch)
                if i % self.opts.grad_accum == 0:
                    self.optimizer.step()
                    self.optimizer.zero_grad()
                    self.step += 1
            print(f"epoch {epoch} step {self.step} loss {acc:.3f}")

    def save(self, path):
        self.model.save_pretrained(path)
