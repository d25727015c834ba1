import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SyntheticTables(Dataset):
    """Priors in the manner of TabPFN: every item is a small table from a random MLP."""

    def __init__(self, n_tables, rows=1024, cols=60, seed=0):
        self.n, self.rows, self.cols = n_tables, rows, cols
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        x = self.rng.normal(size=(self.rows, self.cols))
        w = self.rng.normal(size=(self.cols,))
        x = torch.from_numpy(x).cuda()
        w = torch.from_numpy(w).cuda()
        return x.float(), (x @ w > 0).long()


class PFN(nn.Module):
    def __init__(self, cols, d=512):
        super().__init__()
        self.inp = nn.Linear(cols, d)
        layer = nn.TransformerEncoderLayer(d, 8, 4 * d, batch_first=True)
        self.tr = nn.TransformerEncoder(layer, 12)
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        return self.out(self.tr(self.inp(x)))


if __name__ == "__main__":
    torch.autograd.set_detect_anomaly(True)
    loader = DataLoader(SyntheticTables(100_000), batch_size=16, num_workers=8, multiprocessing_context="spawn")
    net = PFN(60).cuda()
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    ce = nn.CrossEntropyLoss()
    for step, (x, y) in enumerate(loader):
        loss = ce(net(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(step, loss.item())
