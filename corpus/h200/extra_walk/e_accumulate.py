import torch
from torch import nn
net = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(8)]).cuda()
opt = torch.optim.AdamW(net.parameters())
for epoch in range(2):
    for i in range(64):
        loss = net(torch.randn(256, 1024, device="cuda")).mean() / 16
        loss.backward()
        if (i + 1) % 16 == 0:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step(); opt.zero_grad()
