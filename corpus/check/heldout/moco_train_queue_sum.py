import torch
import torch.nn.functional as F


class Moco(torch.nn.Module):
    def __init__(self, q, k, dim=128, size=65_536):
        super().__init__()
        self.q, self.k = q, k
        self.register_buffer("queue", F.normalize(torch.randn(dim, size), dim=0))

    def forward(self, a, b):
        q = F.normalize(self.q(a), dim=1)
        with torch.no_grad():
            k = F.normalize(self.k(b), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        return torch.cat([pos, q @ self.queue], 1) / 0.2


def train(moco, loader, opt):
    total, steps = 0.0, 0
    hits = []
    for (a, b), _ in loader:
        logits = moco(a.cuda(), b.cuda())
        loss = F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long, device="cuda"))
        opt.zero_grad()
        loss.backward()
        opt.step()
        steps += 1
        total = loss + total
        hits.append((logits.argmax(1) == 0).float().mean().item())
    return total / steps, sum(hits) / len(hits)
