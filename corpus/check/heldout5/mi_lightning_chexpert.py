import pytorch_lightning as pl
import torch
import torchmetrics
import torchvision


class CheX(pl.LightningModule):
    def __init__(self, n_labels: int = 14, lr: float = 1e-4):
        super().__init__()
        self.save_hyperparameters()
        self.net = torchvision.models.densenet121(weights="DEFAULT")
        self.net.classifier = torch.nn.Linear(1024, n_labels)
        self.crit = torch.nn.BCEWithLogitsLoss()
        self.train_auc = torchmetrics.AUROC(task="multilabel", num_labels=n_labels)
        self.step_outs = []

    def training_step(self, batch, idx):
        x, y = batch
        logits = self.net(x)
        loss = self.crit(logits, y)
        self.train_auc.update(logits.detach(), y.int())
        self.step_outs.append({"loss": loss, "logits": logits})
        return loss

    def on_train_epoch_end(self):
        mean = torch.stack([o["loss"] for o in self.step_outs]).mean()
        self.log("train/mean", mean)
        self.log("train/auc", self.train_auc.compute())
        self.train_auc.reset()

    def validation_step(self, batch, idx):
        x, y = batch
        self.log("val/loss", self.crit(self.net(x), y))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


if __name__ == "__main__":
    from chexdata import CheXData

    trainer = pl.Trainer(max_epochs=10, accelerator="gpu", precision="bf16-mixed")
    trainer.fit(CheX(), CheXData("/data/chexpert", batch_size=64))
