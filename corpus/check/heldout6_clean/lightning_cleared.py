import lightning as L
import torch
import torch.nn.functional as F


class Tagger(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.hits = []

    def training_step(self, batch, _):
        x, y = batch
        return F.cross_entropy(self.net(x), y)

    def validation_step(self, batch, _):
        x, y = batch
        self.hits.append((self.net(x).argmax(1) == y).float().mean().cpu())

    def on_validation_epoch_end(self):
        self.log("acc", torch.stack(self.hits).mean())
        self.hits.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
