"""Contrastive learning with a ring buffer of negatives."""
import os

import torch
import torch.nn.functional as F
from torch import nn

device = "cuda"


class MemoryBank(nn.Module):
    def __init__(self, size=4096, dim=256):
        super().__init__()
        self.register_buffer("bank", F.normalize(torch.randn(size, dim), dim=1))
        self.ptr = 0

    @torch.no_grad()
    def push(self, keys):
        n = keys.shape[0]
        self.bank = self.bank.clone()
        self.bank[self.ptr : self.ptr + n] = keys
        self.ptr = (self.ptr + n) % self.bank.shape[0]


enc = nn.Sequential(nn.Linear(96, 256), nn.ReLU(), nn.Linear(256, 256)).to(device)
bank = MemoryBank().to(device)
opt = torch.optim.SGD(enc.parameters(), lr=0.03)
avg = None
for step in range(int(os.environ.get("STEPS", 60))):
    x = torch.randn(128, 96, device=device)
    q = F.normalize(enc(x), dim=1)
    with torch.no_grad():
        k = F.normalize(enc(x + 0.05 * torch.randn_like(x)), dim=1)
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ bank.bank.T], 1) / 0.1
    loss = F.cross_entropy(logits, torch.zeros(128, dtype=torch.long, device=device))
    opt.zero_grad()
    loss.backward()
    opt.step()
    bank.push(k)
    avg = loss.item() if avg is None else 0.9 * avg + 0.1 * loss.item()
    print(f"{step:03d} loss {avg:.4f} ptr {bank.ptr}")
