"""Few activations, many weights: what does not fit are AdamW's averages."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(1024, 8192), nn.ReLU(), nn.Linear(8192, 8192), nn.ReLU(), nn.Linear(8192, 8192), nn.ReLU(), nn.Linear(8192, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(10):
    loss = nn.functional.cross_entropy(model(torch.randn(64, 1024, device="cuda")), torch.randint(0, 10, (64,), device="cuda"))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
