import lightning.pytorch as pl
import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score


class Churn(pl.LightningModule):
    def __init__(self, net, lr=1e-3):
        super().__init__()
        self.net, self.lr = net, lr
        self.scores, self.targets = [], []

    def training_step(self, batch, _):
        x, y = batch
        loss = F.binary_cross_entropy_with_logits(self.net(x).squeeze(1), y.float())
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.scores.append(self.net(x).squeeze(1).sigmoid().cpu())
        self.targets.append(y.cpu())

    def on_validation_epoch_end(self):
        auc = roc_auc_score(torch.cat(self.targets).numpy(), torch.cat(self.scores).numpy())
        self.log("auc", auc)
        self.scores.clear()
        self.targets.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)
