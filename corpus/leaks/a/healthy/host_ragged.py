"""Much work on the host: windows of random length cut from a long recording with numpy, nothing kept."""

import os

import numpy as np
import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))
rng = np.random.default_rng(1)
recording = rng.standard_normal(4_000_000)

model = nn.Sequential(nn.Conv1d(1, 16, 64, stride=16), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 2)).cuda()
opt = torch.optim.Adam(model.parameters())

for step in range(steps):
    length = int(rng.integers(2_000, 40_000))
    starts = rng.integers(0, len(recording) - length, 16)
    windows = np.stack([recording[start : start + length] for start in starts])
    windows = (windows - windows.mean(1, keepdims=True)) / windows.std(1, keepdims=True)
    x = torch.from_numpy(windows).float()[:, None].cuda()
    y = torch.randint(0, 2, (16,)).cuda()
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step}: length {length}, loss {loss.item():.4f}")
