import pytorch_lightning as pl
import torch


class Classifier(pl.LightningModule):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.training_step_outputs = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        out = self.backbone(x)
        loss = torch.nn.functional.cross_entropy(out, y)
        self.training_step_outputs.append({"loss": loss, "out": out})
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
