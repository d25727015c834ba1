import pytorch_lightning as pl
import torch
from torchmetrics import AUROC


class XrayModel(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.auroc = AUROC(task="multilabel", num_labels=14)
        self.val_outputs = []

    def training_step(self, batch, _):
        x, y = batch
        return torch.nn.functional.binary_cross_entropy_with_logits(self.net(x), y.float())

    def validation_step(self, batch, _):
        x, y = batch
        logits = self.net(x)
        self.auroc.update(logits, y)
        self.val_outputs.append({"logits": logits, "y": y})

    def on_validation_epoch_end(self):
        self.log("auroc", self.auroc.compute())
        self.auroc.reset()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
