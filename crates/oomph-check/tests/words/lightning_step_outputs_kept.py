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
