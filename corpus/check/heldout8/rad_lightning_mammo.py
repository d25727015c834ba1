import lightning as L
import torch
from torch import nn
from torchmetrics.classification import BinaryAUROC


class MammoNet(L.LightningModule):
    def __init__(self, backbone, lr=1e-4):
        super().__init__()
        self.backbone, self.lr = backbone, lr
        self.bce = nn.BCEWithLogitsLoss()
        self.auroc = BinaryAUROC()
        self.epoch_logits = []

    def training_step(self, batch, _):
        x, y = batch
        logits = self.backbone(x).squeeze(1)
        loss = self.bce(logits, y.float())
        self.epoch_logits.append(logits)
        return loss

    def on_train_epoch_end(self):
        self.log("train_logit_std", torch.cat(self.epoch_logits).std())

    def validation_step(self, batch, _):
        x, y = batch
        self.auroc.update(self.backbone(x).squeeze(1), y)
        self.log("val_auc", self.auroc, on_epoch=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), self.lr)
