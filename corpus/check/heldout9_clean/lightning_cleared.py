import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
        self.guesses, self.truth = [], []

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.guesses.append(self.net(x).argmax(1).cpu())
        self.truth.append(y.cpu())

    def on_validation_epoch_end(self):
        g, t = torch.cat(self.guesses), torch.cat(self.truth)
        self.guesses.clear()
        self.truth.clear()
        self.log("acc", (g == t).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


if __name__ == "__main__":
    rows = [(torch.randn(64), i % 10) for i in range(2000)]
    L.Trainer(max_epochs=5).fit(Net(), DataLoader(rows[200:], 32, shuffle=True), DataLoader(rows[:200], 32))
