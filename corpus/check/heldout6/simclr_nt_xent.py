import torch
import torch.nn.functional as F
from torch import nn


class NTXent(nn.Module):
    def __init__(self, tau=0.2):
        super().__init__()
        self.tau = tau

    def forward(self, z1, z2):
        z = F.normalize(torch.cat([z1, z2]), dim=1)
        sim = z @ z.T / self.tau
        n = z1.size(0)
        sim.fill_diagonal_(float("-inf"))
        pos = torch.arange(2 * n, device=z.device).roll(n)
        return F.cross_entropy(sim, pos)


def pretrain(encoder, head, loader, cfg):
    crit = NTXent(cfg["tau"])
    params = list(encoder.parameters()) + list(head.parameters())
    accum = cfg["accum"]
    opt = torch.optim.SGD(params, cfg["lr"], momentum=0.9, weight_decay=1e-4)
    for epoch in range(cfg["epochs"]):
        for outer in range(cfg["updates_per_epoch"]):
            opt.zero_grad()
            for _ in range(accum):
                for (v1, v2), _ in loader:
                    z1, z2 = head(encoder(v1.cuda())), head(encoder(v2.cuda()))
                    (crit(z1, z2) / accum).backward()
            opt.step()
        torch.save(encoder.state_dict(), f"simclr_{epoch}.pt")
