"""A curriculum: every iteration's sequences are a little longer than the last one's, up to a limit."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

lstm = nn.LSTM(128, 256, batch_first=True).cuda()
head = nn.Linear(256, 128).cuda()
params = [*lstm.parameters(), *head.parameters()]
opt = torch.optim.Adam(params, lr=1e-3)

for step in range(steps):
    length = min(8 + 2 * step, 70)
    x = torch.randn(64, length, 128, device="cuda")
    hidden, _ = lstm(x[:, :-1])
    loss = (head(hidden) - x[:, 1:]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
    print(f"step {step}: length {length}, loss {loss.item():.4f}")
