import lightning as L
import torch
import torch.nn.functional as F


class Tagger(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.losses = []

    def training_step(self, batch, batch_idx):
        loss = F.cross_entropy(self.net(batch["x"]), batch["y"])
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        loss = F.cross_entropy(self.net(batch["x"]), batch["y"])
        self.losses.append(loss.item())

    def on_validation_epoch_end(self):
        self.log("val", sum(self.losses) / len(self.losses))
        self.losses.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)
