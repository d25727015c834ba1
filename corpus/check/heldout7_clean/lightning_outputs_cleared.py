import lightning as L
import torch
import torch.nn.functional as F
from torchvision.models import convnext_tiny


class Defects(L.LightningModule):
    def __init__(self, n=12):
        super().__init__()
        self.net = convnext_tiny(num_classes=n)
        self.scores, self.labels = [], []

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.scores.append(self.net(x).softmax(-1).cpu())
        self.labels.append(y.cpu())

    def on_validation_epoch_end(self):
        s, y = torch.cat(self.scores), torch.cat(self.labels)
        self.log("val/acc", (s.argmax(1) == y).float().mean())
        self.scores.clear()
        self.labels.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)
