"""A home-made Lightning. training_step outputs are gathered for on_train_epoch_end, and stay gathered."""
import os

import torch
import torch.nn.functional as F
from torch import nn

device = "cuda"


class LitModule(nn.Module):
    def configure_optimizers(self):
        raise NotImplementedError

    def on_train_epoch_end(self, outputs):
        pass


class LitClassifier(LitModule):
    def __init__(self, n_in=200, n_out=1000):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 256), nn.ReLU(), nn.Linear(256, n_out))

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self.net(x)  # leak
        loss = F.cross_entropy(logits, y)
        return {"loss": loss, "logits": logits.detach(), "target": y}  # leak

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)

    def on_train_epoch_end(self, outputs):
        self.epoch_loss = sum(o["loss"].item() for o in outputs) / len(outputs)


class Trainer:
    def __init__(self, max_epochs, batches_per_epoch):
        self.max_epochs = max_epochs
        self.batches_per_epoch = batches_per_epoch
        self.outputs = []
        self.global_step = 0

    def fit(self, module):
        module.to(device)
        opt = module.configure_optimizers()
        for epoch in range(self.max_epochs):
            for i in range(self.batches_per_epoch):
                batch = (torch.randn(400, 200, device=device), torch.randint(0, 1000, (400,), device=device))
                out = module.training_step(batch, i)  # leak
                opt.zero_grad(set_to_none=True)
                out["loss"].backward()
                opt.step()
                self.outputs.append(out)  # leak
                self.global_step += 1
                print(f"epoch {epoch} step {self.global_step} loss {out['loss'].item():.4f}")
            module.on_train_epoch_end(self.outputs)


Trainer(max_epochs=int(os.environ.get("STEPS", 60)) // 10, batches_per_epoch=10).fit(LitClassifier())
