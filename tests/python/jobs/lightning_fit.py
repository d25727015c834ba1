"""Lightning's Trainer, with automatic or manual optimization."""

import sys

import lightning
import torch
from torch.nn.functional import cross_entropy


class Classifier(lightning.LightningModule):
    def __init__(self, manual):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
        self.automatic_optimization = not manual

    def training_step(self, batch, _index):
        loss = cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss, prog_bar=True)
        if not self.automatic_optimization:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
        return loss

    def validation_step(self, batch, _index):
        self.log("validation_loss", cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


data = torch.utils.data.TensorDataset(torch.randn(64, 32), torch.randint(0, 2, (64,)))
loader = torch.utils.data.DataLoader(data, batch_size=8)
trainer = lightning.Trainer(max_epochs=2, accelerator="gpu", devices=1, precision="16-mixed")
trainer.fit(Classifier("manual" in sys.argv), loader, loader)
