import pytorch_lightning as pl
import torch
from torch import nn
from torchmetrics import AUROC


class Radiograph(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.auroc = AUROC(task="multilabel", num_labels=14)
        self.val_logits = []

    def training_step(self, batch, _):
        x, y = batch
        return nn.functional.binary_cross_entropy_with_logits(self.net(x), y)

    def validation_step(self, batch, _):
        x, y = batch
        logits = self.net(x)
        self.auroc.update(logits, y.int())
        self.val_logits.append(logits)

    def on_validation_epoch_end(self):
        self.log("auc", self.auroc.compute())
        self.log("mean_logit", torch.cat(self.val_logits).mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)
