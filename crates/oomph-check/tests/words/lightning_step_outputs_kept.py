import torch
import pytorch_lightning as pl
class M(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.val_preds = []
    def validation_step(self, batch, idx):
        x, y = batch
        self.val_preds.append(self.net(x))  # <-
# ---
import torch
import lightning as L
class M(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.hist = {"loss": []}
    def training_step(self, batch, idx):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self.net(x), y)
        self.hist["loss"].append(loss)  # <-
        return loss
# ---
import lightning as L
from torchvision.models import densenet121

class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = densenet121(weights="DEFAULT")
        self.kept, self.times = [], []

    def validation_step(self, batch, batch_idx):
        x, times = batch
        maps = self.body.features(x)
        self.kept.append((maps, times))  # <-
