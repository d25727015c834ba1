import torch
from torch import nn
enc = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 256)).cuda()
opt = torch.optim.SGD(enc.parameters(), lr=0.1)
queue = torch.empty(0, 256, device="cuda")
for step in range(120):
    x = torch.randn(64, 3, 64, 64, device="cuda")
    z = nn.functional.normalize(enc(x), dim=1)
    sim = z @ torch.cat([z.detach(), queue]).T
    nn.functional.cross_entropy(sim / 0.1, torch.arange(64, device="cuda")).backward()
    opt.step(); opt.zero_grad()
    queue = torch.cat([z.detach(), queue])[:1024]
