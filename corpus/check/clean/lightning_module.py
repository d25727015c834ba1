import lightning as L
import torch
import torch.nn.functional as F


class Lit(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.scores = []

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        out = self.net(x)
        self.scores.append((out.argmax(1) == y).float().cpu())
        self.log("val_loss", F.cross_entropy(out, y))

    def on_validation_epoch_end(self):
        self.log("val_acc", torch.cat(self.scores).mean())
        self.scores.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)
