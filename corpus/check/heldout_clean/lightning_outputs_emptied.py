import lightning as L
import torch
from torch import nn


class Module(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.outs = []

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        logits = self.net(x)
        self.outs.append((logits.argmax(1) == y).float().mean().cpu())
        self.log("val_loss", nn.functional.cross_entropy(logits, y))

    def on_validation_epoch_end(self):
        self.log("acc", torch.stack(self.outs).mean())
        self.outs = []

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)
