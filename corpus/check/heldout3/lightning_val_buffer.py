import lightning.pytorch as pl
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import average_precision_score


class ToxicityModel(pl.LightningModule):
    def __init__(self, encoder: nn.Module, hidden: int, n_labels: int, lr: float = 2e-5):
        super().__init__()
        self.save_hyperparameters(ignore=["encoder"])
        self.encoder = encoder
        self.classifier = nn.Linear(hidden, n_labels)
        self.val_logits = []
        self.val_targets = []
        self.train_losses = []

    def forward(self, ids, mask):
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        pooled = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.classifier(pooled)

    def training_step(self, batch, batch_idx):
        logits = self(batch["ids"], batch["mask"])
        loss = F.binary_cross_entropy_with_logits(logits, batch["y"].float())
        self.train_losses.append(loss)
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        logits = self(batch["ids"], batch["mask"])
        self.val_logits.append(logits)
        self.val_targets.append(batch["y"])

    def on_validation_epoch_end(self):
        logits = torch.cat(self.val_logits).sigmoid().cpu().numpy()
        targets = torch.cat(self.val_targets).cpu().numpy()
        self.log("val/map", average_precision_score(targets, logits, average="macro"))

    def on_train_epoch_end(self):
        self.log("train/epoch_loss", torch.stack(self.train_losses).mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
