import lightning as L
import torch
import torch.nn.functional as F


class Tagger(L.LightningModule):
    def __init__(self, net, lr=1e-3):
        super().__init__()
        self.net, self.lr = net, lr
        self.seen = []

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        pred = self.net(x).argmax(-1)
        self.seen.append((pred == y).float().mean().cpu())

    def on_validation_epoch_end(self):
        self.log("acc", torch.stack(self.seen).mean())
        self.seen.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)
