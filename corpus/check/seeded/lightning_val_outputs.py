import lightning as L
import torch
import torch.nn.functional as F


class LitSeg(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.val_out = []

    def training_step(self, batch, _):
        x, y = batch
        return F.cross_entropy(self.net(x), y)

    def validation_step(self, batch, _):
        x, y = batch
        logits = self.net(x)
        self.val_out.append(logits)
        self.log("val_loss", F.cross_entropy(logits, y))

    def on_validation_epoch_end(self):
        self.log("mean_conf", torch.cat(self.val_out).softmax(1).max(1).values.mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())
