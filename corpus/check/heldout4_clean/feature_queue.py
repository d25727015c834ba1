"""MoCo queue of fixed size, written in place."""
import torch
import torch.nn.functional as F
from torch import nn


class MoCo(nn.Module):
    def __init__(self, query, key, dim=128, size=65536, m=0.999, temp=0.07):
        super().__init__()
        self.query, self.key = query, key.requires_grad_(False)
        self.m, self.temp, self.size = m, temp, size
        self.register_buffer("queue", F.normalize(torch.randn(size, dim), dim=-1))
        self.at = 0

    @torch.no_grad()
    def _encode_keys(self, x):
        for q, k in zip(self.query.parameters(), self.key.parameters()):
            k.lerp_(q, 1 - self.m)
        return F.normalize(self.key(x), dim=-1)

    @torch.no_grad()
    def _push(self, keys):
        n = len(keys)
        self.queue[self.at:self.at + n] = keys
        self.at = (self.at + n) % self.size

    def forward(self, xq, xk):
        q = F.normalize(self.query(xq), dim=-1)
        k = self._encode_keys(xk)
        pos = (q * k).sum(-1, keepdim=True)
        neg = q @ self.queue.t().clone()
        loss = F.cross_entropy(torch.cat([pos, neg], 1) / self.temp,
                               torch.zeros(len(q), dtype=torch.long, device=q.device))
        self._push(k)
        return loss
