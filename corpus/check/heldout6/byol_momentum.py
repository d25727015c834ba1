import copy
import torch
import torch.nn.functional as F
from torch import nn


class BYOL(nn.Module):
    def __init__(self, backbone, dim=256, m=0.996):
        super().__init__()
        self.online = nn.Sequential(backbone, nn.Linear(2048, dim))
        self.target = copy.deepcopy(self.online)
        self.pred = nn.Sequential(nn.Linear(dim, 4096), nn.ReLU(), nn.Linear(4096, dim))
        self.m = m

    @torch.no_grad()
    def momentum(self):
        for a, b in zip(self.online.parameters(), self.target.parameters()):
            b.mul_(self.m).add_(a, alpha=1 - self.m)

    def forward(self, v1, v2):
        p1, p2 = self.pred(self.online(v1)), self.pred(self.online(v2))
        t1, t2 = self.target(v1), self.target(v2)
        return 4 - 2 * (F.cosine_similarity(p1, t2.detach()).mean() + F.cosine_similarity(p2, t1.detach()).mean())


def train(model, loader, epochs):
    opt = torch.optim.AdamW(list(model.online.parameters()) + list(model.pred.parameters()), 1e-3)
    for _ in range(epochs):
        for (a, b), _ in loader:
            loss = model(a.cuda(), b.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
            model.momentum()
