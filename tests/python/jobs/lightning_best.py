"""Lightning: the best checkpoint is tested, and training goes on from the last."""

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(lightning.LightningModule):
    def __init__(self, width=512):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, 2))

    def training_step(self, batch, _):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, _):
        self.log("loss", nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

    test_step = validation_step

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


loader = DataLoader(TensorDataset(torch.randn(64, 32), torch.zeros(64, dtype=torch.int64)), batch_size=32)
best = ModelCheckpoint(dirpath="kept", monitor="loss", save_top_k=1, save_last=True)
for epochs, resumed in ((1, None), (2, "kept/last.ckpt")):
    trainer = lightning.Trainer(
        max_epochs=epochs, accelerator="gpu", devices=1, logger=False, enable_progress_bar=False,
        callbacks=[best, EarlyStopping("loss", patience=3)],
    )  # fmt: skip
    trainer.fit(Net(), loader, loader, ckpt_path=resumed)
trainer.test(ckpt_path="best", dataloaders=loader)
assert next(Net.load_from_checkpoint(best.best_model_path).parameters()).is_cuda
