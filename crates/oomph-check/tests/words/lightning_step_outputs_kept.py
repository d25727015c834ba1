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
# ---
import pytorch_lightning as pl, torch
class Preds(pl.Callback):
    def __init__(self):
        super().__init__()
        self.outs = []
    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        self.outs.append(outputs)  # <-
    def on_validation_epoch_end(self, trainer, pl_module):
        print(len(self.outs))
class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 4)
    def validation_step(self, b, i):
        return self.l(b)
# ---
import lightning.pytorch as pl, torch
class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 4)
        self.seen = {"train": [], "val": []}
    def training_step(self, b, i):
        loss = self.l(b).pow(2).mean()
        self.seen["train"].append(loss)  # <-
        return loss
    def on_train_epoch_end(self):
        self.log("m", torch.stack(self.seen["train"]).mean())
# ---
import lightning.pytorch as pl, torch
class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 4)
        self.val_out = []
    def _shared(self, b):
        y = self.l(b)
        self.val_out.append(y)  # <-
        return y
    def validation_step(self, b, i):
        self._shared(b)
    def on_validation_epoch_end(self):
        self.log("m", torch.cat(self.val_out).mean())
# ---
import lightning.pytorch as pl, torch
class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 4)
        self.val_out = torch.empty(0)
        self.keep = []
    def validation_step(self, b, i):
        y = self.l(b["x"])
        self.keep += [{"y": y, "id": b["id"]}]  # <-
    def on_validation_epoch_end(self):
        self.log("m", torch.cat([k["y"] for k in self.keep]).mean())
# ---
import lightning.pytorch as pl, torch
class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 4)
        self.keep = []
    def validation_step(self, b, i):
        y = self.l(b["x"])
        self.keep.append({"y": y, "id": b["id"]})  # <-
    def on_validation_epoch_end(self):
        self.log("m", torch.cat([k["y"] for k in self.keep]).mean())
