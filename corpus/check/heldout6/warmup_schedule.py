import torch
from torch.optim.lr_scheduler import LambdaLR


class Pretrainer:
    def __init__(self, net, base_lr=0.3, warm=10_000, total=300_000):
        self.net = net.cuda()
        self.warm, self.total = warm, total
        self.opt = torch.optim.AdamW(self.net.parameters(), base_lr)
        self.sched = LambdaLR(self.opt, lambda s: min(s / self.warm, 1 - s / self.total))

    def step(self, batch):
        self.opt.zero_grad()
        loss = self.net(batch.cuda())
        loss.backward()
        self.opt.step()
        self.sched.step()
        return loss.item()


def sweep(make, loader, lrs):
    scores = {}
    for lr in lrs:
        tr = Pretrainer(make(), lr)
        for b in loader:
            last = tr.step(b)
        scores[lr] = last
    return scores
