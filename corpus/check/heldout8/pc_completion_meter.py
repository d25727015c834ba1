import torch
from torch import nn, optim


class RunningMean:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.count = 0.0, 0

    def update(self, val, n=1):
        self.total = self.total + val * n
        self.count += n

    def mean(self):
        return self.total / max(self.count, 1)


class CompletionRunner:
    def __init__(self, net: nn.Module, cfg: dict):
        self.net = net.to(cfg["device"])
        self.cfg = cfg
        self.opt = optim.AdamW(self.net.parameters(), lr=cfg["lr"])
        self.meters = {"coarse": RunningMean(), "fine": RunningMean()}

    def train_epoch(self, loader, loss_fn):
        self.net.train()
        for m in self.meters.values():
            m.reset()
        for partial, gt in loader:
            partial, gt = partial.to(self.cfg["device"]), gt.to(self.cfg["device"])
            coarse, fine = self.net(partial)
            lc, lf = loss_fn(coarse, gt), loss_fn(fine, gt)
            self.opt.zero_grad()
            (lc + self.cfg["alpha"] * lf).backward()
            self.opt.step()
            self.meters["coarse"].update(lc, partial.size(0))
            self.meters["fine"].update(lf, partial.size(0))
        return {k: float(m.mean()) for k, m in self.meters.items()}

    def validate(self, loader, loss_fn):
        self.net.eval()
        worst = 0.0
        for partial, gt in loader:
            _, fine = self.net(partial.to(self.cfg["device"]))
            worst = max(worst, loss_fn(fine, gt.to(self.cfg["device"])).item())
        return worst
