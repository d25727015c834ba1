import pytorch_lightning as pl
import torch
import torch.nn as nn
from torchvision.models import densenet121

from survival import cindex, cox_loss


class CoxNet(pl.LightningModule):
    """Hazard per slide; the concordance index needs all slides of the epoch."""

    def __init__(self):
        super().__init__()
        self.body = densenet121(weights="DEFAULT")
        self.body.classifier = nn.Linear(1024, 1)
        self.risks, self.times, self.events = [], [], []

    def training_step(self, batch, idx):
        x, t, e = batch
        loss = cox_loss(self.body(x).squeeze(1), t, e)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, idx):
        x, t, e = batch
        feats = self.body.features(x)
        risk = self.body.classifier(feats.mean((2, 3))).squeeze(1)
        self.risks.append((risk, feats))
        self.times.append(t)
        self.events.append(e)

    def on_validation_epoch_end(self):
        r = torch.cat([p[0] for p in self.risks])
        self.log("cindex", cindex(r, torch.cat(self.times), torch.cat(self.events)))

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), 1e-4)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.StepLR(opt, 5)}
