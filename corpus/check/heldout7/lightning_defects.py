import lightning as L
import torch
import torch.nn.functional as F
from torchvision.models import convnext_base

from line3 import DefectData


class DefectModule(L.LightningModule):
    def __init__(self, n=12, lr=1e-4):
        super().__init__()
        self.save_hyperparameters()
        self.net = convnext_base(num_classes=n)
        self.val_outputs = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, idx):
        x, y = batch
        feats = self.net.features(x)
        logits = self.net.classifier(self.net.avgpool(feats))
        self.val_outputs.append({"feats": feats, "logits": logits, "y": y})

    def on_validation_epoch_end(self):
        n = self.trainer.num_val_batches[0]
        logits = torch.cat([o["logits"] for o in self.val_outputs[-n:]])
        y = torch.cat([o["y"] for o in self.val_outputs[-n:]])
        self.log("val/acc", (logits.argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


if __name__ == "__main__":
    L.Trainer(max_epochs=30, precision="bf16-mixed").fit(DefectModule(), DefectData(batch_size=64))
