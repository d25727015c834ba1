import lightning as L
import torch
from torchmetrics import AUROC


class LinearProbe(L.LightningModule):
    def __init__(self, encoder, dim, lr=1e-3):
        super().__init__()
        self.encoder = encoder.requires_grad_(False)
        self.fc = torch.nn.Linear(dim, 1)
        self.lr = lr
        self.auc = AUROC(task="binary")
        self.feats = []

    def forward(self, x):
        return self.fc(self.encoder(x)).squeeze(-1)

    def training_step(self, batch, _):
        x, y = batch
        loss = torch.nn.functional.binary_cross_entropy_with_logits(self(x), y.float())
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        z = self.encoder(x)
        self.feats.append(z)
        self.auc.update(self.fc(z).squeeze(-1), y)

    def on_validation_epoch_end(self):
        self.log("val/auc", self.auc.compute())
        self.auc.reset()
        self.logger.experiment.add_embedding(torch.cat(self.feats[-4:]).cpu())

    def configure_optimizers(self):
        return torch.optim.Adam(self.fc.parameters(), self.lr)
