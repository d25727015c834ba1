import copy

import torch
import torch.nn.functional as F


class Byol(torch.nn.Module):
    def __init__(self, online, predictor, tau=0.99):
        super().__init__()
        self.online, self.predictor, self.tau = online, predictor, tau
        self.target = copy.deepcopy(online).requires_grad_(False)

    def forward(self, a, b):
        p = F.normalize(self.predictor(self.online(a)), dim=-1)
        with torch.no_grad():
            t = F.normalize(self.target(b), dim=-1)
        return 2 - 2 * (p * t).sum(-1).mean()

    @torch.no_grad()
    def follow(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.lerp_(o, 1 - self.tau)


def train(byol, loader, opt):
    for a, b in loader:
        opt.zero_grad()
        byol(a.cuda(), b.cuda()).backward()
        opt.step()
        byol.follow()
