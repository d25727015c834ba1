import lightning as L
import segmentation_models_pytorch as smp
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader


class Thyroid(L.LightningModule):
    def __init__(self, lr=3e-4):
        super().__init__()
        self.save_hyperparameters()
        self.net = smp.UnetPlusPlus("resnet34", in_channels=1, classes=1)
        self.val_probs, self.val_masks = [], []

    def training_step(self, batch, _):
        x, m = batch
        z = self.net(x)
        bce = F.binary_cross_entropy_with_logits(z, m)
        inter = (z.sigmoid() * m).sum()
        dice = 1 - 2 * inter / (z.sigmoid().sum() + m.sum() + 1e-6)
        self.log_dict({"bce": bce, "dice": dice})
        return bce + dice

    def validation_step(self, batch, _):
        x, m = batch
        self.val_probs.append(self.net(x).sigmoid())
        self.val_masks.append(m)

    def on_validation_epoch_end(self):
        p, m = torch.cat(self.val_probs) > 0.5, torch.cat(self.val_masks) > 0.5
        self.log("val_iou", (p & m).sum() / (p | m).sum())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), self.hparams.lr)


if __name__ == "__main__":
    train, val = torch.load("thyroid.pt", map_location="cpu")   # lists of (image, mask)
    L.Trainer(max_epochs=60, accelerator="gpu", devices=1).fit(
        Thyroid(), DataLoader(train, 8, shuffle=True, num_workers=2), DataLoader(val, 8, num_workers=2))
