import lightning as L
import torch


class Net(L.LightningModule):
    def __init__(self, body):
        super().__init__()
        self.body, self.hits = body, []

    def validation_step(self, batch, _):
        x, y = batch
        self.hits.append((self.body(x).argmax(1) == y).float().mean().cpu())

    def on_validation_epoch_end(self):
        self.log("acc", torch.stack(self.hits).mean())
        self.hits.clear()
