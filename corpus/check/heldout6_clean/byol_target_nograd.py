import torch
import torch.nn.functional as F


class Pair(torch.nn.Module):
    def __init__(self, online, target, pred):
        super().__init__()
        self.online, self.pred = online, pred
        self.target = target.requires_grad_(False)

    def forward(self, a, b):
        p = self.pred(self.online(a))
        with torch.no_grad():
            t = self.target(b)
        return 2 - 2 * F.cosine_similarity(p, t).mean()

    @torch.no_grad()
    def move(self, m=0.99):
        for o, t in zip(self.online.parameters(), self.target.parameters()):
            t.lerp_(o, 1 - m)
