import torch
from torch import nn
net = nn.ModuleList([nn.Linear(2048, 2048) for _ in range(12)]).cuda()
for l in net[:8]: l.requires_grad_(False)
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad])
kept = []
for epoch in range(6):
    if epoch == 1:
        for l in net: l.requires_grad_(True)
        opt = torch.optim.Adam(net.parameters())
    for i in range(20):
        x = torch.randn(2048, 2048, device="cuda")
        for l in net: x = torch.relu(l(x))
        x.mean().backward(); opt.step(); opt.zero_grad()
