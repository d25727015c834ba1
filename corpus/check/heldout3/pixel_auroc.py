import lightning as L
import torch
import torchvision
from torch import nn
from torchmetrics.classification import BinaryAUROC


class DefectSegmenter(L.LightningModule):
    """Scratches on steel plates: one score a pixel, 1024 x 1024 images."""

    def __init__(self, lr=1e-4):
        super().__init__()
        self.lr = lr
        self.net = torchvision.models.segmentation.fcn_resnet50(num_classes=1)
        self.loss = nn.BCEWithLogitsLoss()
        self.val_auc = BinaryAUROC()

    def forward(self, x):
        return self.net(x)["out"].squeeze(1)

    def training_step(self, batch, _):
        x, y = batch
        loss = self.loss(self(x), y.float())
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        logits = self(x)
        self.log("val_loss", self.loss(logits, y.float()))
        self.val_auc.update(logits.flatten(), y.int().flatten())

    def on_validation_epoch_end(self):
        self.log("val_auc", self.val_auc.compute())
        self.val_auc.reset()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)
