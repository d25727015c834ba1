"""SAC-style circular numpy replay: np.empty up front, so the pages come as it fills, in eight iterations."""
import os

import numpy as np
import torch
from torch import nn

device = "cuda"
rng = np.random.default_rng(0)


class ReplayBuffer:
    def __init__(self, capacity, obs_dim, act_dim):
        self.obs = np.empty((capacity, obs_dim), dtype=np.float32)
        self.next = np.empty((capacity, obs_dim), dtype=np.float32)
        self.act = np.empty((capacity, act_dim), dtype=np.float32)
        self.rew = np.empty(capacity, dtype=np.float32)
        self.capacity, self.idx, self.full = capacity, 0, False

    def add_batch(self, o, a, r, o2):
        j = (self.idx + np.arange(len(o))) % self.capacity
        self.obs[j], self.act[j], self.rew[j], self.next[j] = o, a, r, o2
        self.full = self.full or self.idx + len(o) >= self.capacity
        self.idx = (self.idx + len(o)) % self.capacity

    def sample(self, n):
        hi = self.capacity if self.full else self.idx
        j = rng.integers(0, hi, n)
        return [torch.from_numpy(a[j]).to(device) for a in (self.obs, self.act, self.rew, self.next)]


buf = ReplayBuffer(8000, 256, 8)
q = nn.Sequential(nn.Linear(264, 128), nn.ReLU(), nn.Linear(128, 1)).to(device)
opt = torch.optim.Adam(q.parameters(), lr=3e-4)
for it in range(int(os.environ.get("STEPS", 60))):
    o = rng.standard_normal((1000, 256), dtype=np.float32)
    buf.add_batch(o, rng.random((1000, 8), dtype=np.float32), rng.random(1000, dtype=np.float32), o + 1)
    s, a, r, s2 = buf.sample(256)
    with torch.no_grad():
        y = r[:, None] + 0.99 * q(torch.cat([s2, a], 1))
    loss = (q(torch.cat([s, a], 1)) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{it} loss {loss.item():.4f} full {buf.full}")
