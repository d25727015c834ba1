"""MoCo with the queue made by torch.cat. The newest 2048 keys are the negatives; the old ones were never dropped."""
import copy
import os

import torch
import torch.nn.functional as F
from torch import nn

device = "cuda"


class MoCo(nn.Module):
    def __init__(self, dim=512, K=2048, m=0.99, T=0.07):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, dim))
        self.encoder_k = copy.deepcopy(self.encoder_q).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(K, dim), dim=1))

    @torch.no_grad()
    def _momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.mul_(self.m).add_(q, alpha=1 - self.m)

    @torch.no_grad()
    def _enqueue(self, keys):
        self.queue = torch.cat([self.queue, keys])  # leak

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update()
            k = F.normalize(self.encoder_k(im_k), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue[-self.K :].clone().T
        logits = torch.cat([pos, neg], 1) / self.T
        self._enqueue(k)  # leak
        return logits


model = MoCo().to(device)
opt = torch.optim.SGD(model.encoder_q.parameters(), lr=0.03, momentum=0.9)
for step in range(int(os.environ.get("STEPS", 60))):
    x = torch.randn(640, 128, device=device)
    logits = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))  # leak
    loss = F.cross_entropy(logits, torch.zeros(640, dtype=torch.long, device=device))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"[{step}] contrastive loss {loss.item():.4f}")
