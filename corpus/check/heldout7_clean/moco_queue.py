import torch
import torch.nn as nn
import torch.nn.functional as F


class Queue(nn.Module):
    """Fixed number of keys, overwritten in place."""

    def __init__(self, dim=128, size=65536):
        super().__init__()
        self.register_buffer("keys", F.normalize(torch.randn(dim, size), dim=0))
        self.ptr, self.size = 0, size

    @torch.no_grad()
    def push(self, k):
        n = k.shape[0]
        self.keys[:, self.ptr:self.ptr + n] = k.T
        self.ptr = (self.ptr + n) % self.size


def moco_loss(q, k, queue, tau=0.07):
    pos = (q * k).sum(1, keepdim=True)
    neg = q @ queue.keys.clone()
    logits = torch.cat([pos, neg], 1) / tau
    return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long, device=q.device))


def step(enc_q, enc_k, queue, opt, a, b):
    with torch.no_grad():
        k = F.normalize(enc_k(b), dim=1)
    q = F.normalize(enc_q(a), dim=1)
    loss = moco_loss(q, k, queue)
    opt.zero_grad()
    loss.backward()
    opt.step()
    queue.push(k)
    return loss.item()
