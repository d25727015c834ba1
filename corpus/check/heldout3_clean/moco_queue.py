"""Momentum contrast with a queue of fixed size, written in place without gradients."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class MoCo(nn.Module):
    def __init__(self, encoder, dim=128, size=65536, m=0.999, tau=0.07):
        super().__init__()
        self.q = encoder
        self.k = copy.deepcopy(encoder).requires_grad_(False)
        self.m, self.tau = m, tau
        self.register_buffer("queue", F.normalize(torch.randn(dim, size), dim=0))
        self.ptr = 0

    @torch.no_grad()
    def momentum_update(self):
        for a, b in zip(self.q.parameters(), self.k.parameters()):
            b.mul_(self.m).add_(a, alpha=1 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        n = keys.size(0)
        self.queue[:, self.ptr:self.ptr + n] = keys.t()
        self.ptr = (self.ptr + n) % self.queue.size(1)

    def forward(self, a, b):
        q = F.normalize(self.q(a), dim=1)
        with torch.no_grad():
            self.momentum_update()
            k = F.normalize(self.k(b), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone()
        loss = F.cross_entropy(torch.cat([pos, neg], 1) / self.tau, torch.zeros(len(q), dtype=torch.long, device=q.device))
        self.enqueue(k)
        return loss
