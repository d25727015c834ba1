import torch
from torch import nn
from torch.utils.data import DataLoader

from snapshots import SnapshotSet


class EvolveNet(nn.Module):
    def __init__(self, nodes, dim):
        super().__init__()
        self.inp = nn.Linear(nodes, dim)
        self.cell = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, nodes)

    def forward(self, x, state=None):
        y, state = self.cell(self.inp(x), state)
        return self.out(y), state


def backtest(net, loader, mse):
    """Roll over the test period in order, the state of one window feeds the next."""
    net.eval()
    err, state = 0.0, None
    for win, nxt in loader:
        pred, state = net(win.cuda(), state)
        err += mse(pred, nxt.cuda()).item()
    net.train()
    return err / len(loader)


def main(cfg):
    torch.autograd.set_detect_anomaly(True)
    net = EvolveNet(cfg["nodes"], cfg["dim"]).cuda()
    opt = torch.optim.RMSprop(net.parameters(), lr=cfg["lr"])
    loader = DataLoader(SnapshotSet(cfg["root"]), batch_size=cfg["bs"], drop_last=True)
    test = DataLoader(SnapshotSet(cfg["root"], "test"), batch_size=cfg["bs"], drop_last=True)
    mse = nn.MSELoss()
    memory = None
    for epoch in range(cfg["epochs"]):
        for win, nxt in loader:
            win, nxt = win.cuda(), nxt.cuda()
            opt.zero_grad()
            pred, memory = net(win, memory)
            memory = memory.detach()
            loss = mse(pred, nxt)
            loss.backward()
            opt.step()
        print(epoch, loss.item(), backtest(net, test, mse))


main({"nodes": 207, "dim": 512, "lr": 1e-3, "bs": 64, "epochs": 100, "root": "metr-la"})
