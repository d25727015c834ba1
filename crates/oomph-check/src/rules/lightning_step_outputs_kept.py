# --- bad
import lightning as L
import torch

class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 2)
        self.outputs = []

    def validation_step(self, batch, index):
        logits = self.net(batch[0])
        self.outputs.append(logits)

    def on_validation_epoch_end(self):
        self.log('mean', torch.cat(self.outputs).mean())
# --- good
import lightning as L
import torch

class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 2)
        self.outputs = []

    def validation_step(self, batch, index):
        logits = self.net(batch[0])
        self.outputs.append(logits)

    def on_validation_epoch_end(self):
        self.log('mean', torch.cat(self.outputs).mean())
        self.outputs.clear()
# --- bad
import pytorch_lightning as pl
import torch
import torch.nn.functional as F

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 2)
        self.history = {'loss': []}

    def training_step(self, batch, index):
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.history['loss'].append(loss)
        return loss
# --- good
import pytorch_lightning as pl
import torch
import torch.nn.functional as F

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 2)
        self.history = {'loss': []}

    def training_step(self, batch, index):
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.history['loss'].append(loss.item())
        return loss
# --- silent
import torch
import lightning as L

class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 2)
        self.outputs = []

    def test_step(self, batch, index):
        logits = self.net(batch[0])
        self.outputs.append(logits)
# --- silent
import lightning as L
import torch

class Model(L.LightningModule):
    def on_validation_epoch_start(self):
        self.outputs = []

    def validation_step(self, batch, index):
        self.outputs.append(self(batch[0]))
# --- silent
import lightning as L
import torch

class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 2)
        self.outputs = []

    def test_step(self, batch, index):
        self.outputs.append(self.net(batch[0]).argmax(1).cpu().numpy())
