import lightning as L
import torch
import torch.nn.functional as F


class Ranker(L.LightningModule):
    def __init__(self, tower):
        super().__init__()
        self.tower = tower
        self.train_scores = []

    def training_step(self, batch, batch_idx):
        pos, neg = self.tower(batch["pos"]), self.tower(batch["neg"])
        loss = F.margin_ranking_loss(pos, neg, torch.ones_like(pos), margin=0.1)
        self.train_scores.extend([pos, neg])
        self.log("train_loss", loss)
        return loss

    def on_train_epoch_end(self):
        scores = torch.cat(self.train_scores)
        self.log("score_std", scores.std())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)
