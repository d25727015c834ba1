import lightning as L
import torch
import torch.nn.functional as F
from torchmetrics.classification import MulticlassAccuracy


class Classifier(L.LightningModule):
    """Collects small results and lets go of them at the end of each epoch."""

    def __init__(self, net, classes, lr=1e-3):
        super().__init__()
        self.net, self.lr = net, lr
        self.acc = MulticlassAccuracy(classes)
        self.val_losses = []
        self.hard = []

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, idx):
        x, y = batch
        out = self.net(x)
        each = F.cross_entropy(out, y, reduction="none")
        self.acc.update(out, y)
        self.val_losses.append(each.mean().item())
        self.hard.append((idx, each.argmax().item()))

    def on_validation_epoch_end(self):
        self.log("val_acc", self.acc.compute())
        self.log("val_loss", sum(self.val_losses) / len(self.val_losses))
        self.acc.reset()
        self.val_losses.clear()
        self.hard.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), self.lr)
