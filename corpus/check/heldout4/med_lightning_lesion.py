"""Lesion segmentation with Lightning 2."""
import lightning as L
import torch
from monai.losses import DiceCELoss
from monai.networks.nets import UNet
from torchmetrics.classification import BinaryAUROC


class LesionModule(L.LightningModule):
    def __init__(self, lr: float = 1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = UNet(3, 1, 2, (32, 64, 128, 256), (2, 2, 2), num_res_units=2)
        self.crit = DiceCELoss(to_onehot_y=True, softmax=True)
        self.voxel_auc = BinaryAUROC()
        self.val_cache = []
        self.train_cache = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        out = self(batch["image"])
        loss = self.crit(out, batch["label"])
        self.train_cache.append({"loss": loss, "pred": out})
        return loss

    def on_train_epoch_end(self):
        mean = torch.stack([d["loss"].detach() for d in self.train_cache]).mean()
        self.log("train_loss_epoch", mean)

    def validation_step(self, batch, _):
        out = self(batch["image"])
        prob = out.softmax(1)[:, 1]
        self.voxel_auc.update(prob.flatten(), batch["label"].flatten().long())
        self.val_cache.append(self.crit(out, batch["label"]))
        return None

    def on_validation_epoch_end(self):
        self.log("val_auc", self.voxel_auc.compute())
        self.log("val_loss", torch.stack(self.val_cache).mean())
        self.voxel_auc.reset()
        self.val_cache.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), self.hparams.lr)
