import lightning.pytorch as pl
import torch
import torch.nn.functional as F


class Flow(pl.LightningModule):
    def __init__(self, flow, lr=1e-3):
        super().__init__()
        self.flow, self.lr = flow, lr
        self.training_step_outputs = []

    def training_step(self, batch, batch_idx):
        nll = -self.flow.log_prob(batch[0]).mean()
        self.training_step_outputs.append({"nll": nll, "n": len(batch[0])})
        return nll

    def on_train_epoch_end(self):
        n = sum(o["n"] for o in self.training_step_outputs)
        mean = sum(o["nll"] * o["n"] for o in self.training_step_outputs) / n
        self.log("epoch_nll", mean)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), self.lr)
