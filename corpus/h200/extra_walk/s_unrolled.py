import torch
from torch import nn
cell, head = nn.GRUCell(256, 512).cuda(), nn.Linear(512, 256).cuda()
opt = torch.optim.Adam([*cell.parameters(), *head.parameters()])
for epoch in range(5):
    for b in range(10):
        h = torch.zeros(128, 512, device="cuda"); loss = 0
        for t in range(40):
            h = cell(torch.randn(128, 256, device="cuda"), h)
            loss = loss + head(h).square().mean()
        loss.backward(); opt.step(); opt.zero_grad()
