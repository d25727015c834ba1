import torch
from torch import nn
from torch.utils.data import DataLoader


class Bank:
    """Features of the last epoch, by sample."""

    def __init__(self):
        self.rows = {}

    def put(self, idx, feats):
        for i, f in zip(idx.tolist(), feats):
            self.rows[i] = f

    def nearest(self, f):
        keys = list(self.rows)
        table = torch.stack([self.rows[k] for k in keys])
        return keys[torch.cdist(f[None], table).argmin().item()]


def train(net, dataset, opt, margin=0.2):
    bank = Bank()
    crit = nn.TripletMarginLoss(margin)
    for idx, a, p, n in DataLoader(dataset, batch_size=64, shuffle=True):
        fa, fp, fn = net(a.cuda()), net(p.cuda()), net(n.cuda())
        loss = crit(fa, fp, fn)
        opt.zero_grad()
        loss.backward()
        opt.step()
        bank.put(idx, fa)
    return bank
