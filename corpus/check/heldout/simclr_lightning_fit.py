import lightning as L
import torch
import torch.nn.functional as F


def nt_xent(a, b, t=0.5):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = z @ z.T / t
    sim.fill_diagonal_(-1e9)
    n = len(a)
    target = torch.cat([torch.arange(n) + n, torch.arange(n)]).to(z.device)
    return F.cross_entropy(sim, target)


class SimCLR(L.LightningModule):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.embeddings = []
        self.running = 0.0

    def training_step(self, batch, idx):
        (a, b), _ = batch
        loss = nt_xent(self.encoder(a), self.encoder(b))
        self.running += loss
        if idx % 50 == 0:
            self.log("running", self.running / (idx + 1))
        return loss

    def validation_step(self, batch, idx):
        x, y = batch
        self.embeddings.append((self.encoder(x), y))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.3, momentum=0.9)
