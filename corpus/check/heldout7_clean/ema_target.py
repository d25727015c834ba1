import copy

import torch
import torch.nn.functional as F


class BYOL(torch.nn.Module):
    def __init__(self, encoder, predictor, tau=0.996):
        super().__init__()
        self.online, self.predictor, self.tau = encoder, predictor, tau
        self.target = copy.deepcopy(encoder)
        self.target.requires_grad_(False)

    @torch.no_grad()
    def update_target(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.lerp_(o, 1 - self.tau)

    @torch.no_grad()
    def targets(self, a, b):
        return F.normalize(self.target(a), dim=-1), F.normalize(self.target(b), dim=-1)

    def forward(self, a, b):
        ta, tb = self.targets(a, b)
        pa = F.normalize(self.predictor(self.online(a)), dim=-1)
        pb = F.normalize(self.predictor(self.online(b)), dim=-1)
        return 4 - 2 * ((pa * tb).sum(-1) + (pb * ta).sum(-1)).mean()


def train(byol, loader, opt):
    for a, b in loader:
        loss = byol(a.cuda(), b.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        byol.update_target()
