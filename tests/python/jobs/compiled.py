"""torch.compile through inductor and Triton."""

import sys

import torch
from torch import nn

net = nn.Sequential(nn.Linear(128, 256), nn.LayerNorm(256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 64)).cuda()
options = {"dynamic": True} if sys.argv[1] == "dynamic" else {"mode": sys.argv[1]}
compiled = torch.compile(net, **options)
optimizer = torch.optim.AdamW(net.parameters())
for step in range(20):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = compiled(torch.randn(32 + 8 * (step if "dynamic" in options else 0), 128, device="cuda")).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
