"""Diffusion in a plain loop: a U-Net that is told the time, its loss a mean of squares, an optimizer step a batch."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Stage(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.time = nn.Linear(128, after)
        self.first, self.second = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
        self.norm, self.norm2 = nn.GroupNorm(8, after), nn.GroupNorm(8, after)
        self.skip = nn.Conv2d(before, after, 1)

    def forward(self, x, time):
        y = F.silu(self.norm(self.first(x))) + self.time(time)[:, :, None, None]
        return F.silu(self.norm2(self.second(y))) + self.skip(x)


class UNet(nn.Module):
    def __init__(self, widths=(64, 128, 256)):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, 128), nn.SiLU(), nn.Linear(128, 128))
        self.down = nn.ModuleList([Stage(3, 64), Stage(64, 128), Stage(128, 256)])
        self.middle = Stage(256, 256)
        self.up = nn.ModuleList([Stage(512, 128), Stage(256, 64), Stage(128, 64)])
        self.out = nn.Conv2d(64, 3, 1)

    def forward(self, x, time):
        time, kept = self.time(time[:, None]), []
        for stage in self.down:
            x = stage(x, time)
            kept.append(x)
            x = F.avg_pool2d(x, 2)
        x = self.middle(x, time)
        for stage in self.up:
            x = stage(torch.cat([F.interpolate(x, scale_factor=2), kept.pop()], 1), time)
        return self.out(x)


model = UNet().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
for epoch in range(2):
    for (images,) in DataLoader(TensorDataset(torch.randn(320, 3, 64, 64)), batch_size=64, shuffle=True):
        images = images.cuda()
        time = torch.rand(len(images), device="cuda")
        noise = torch.randn_like(images)
        noised = images * (1 - time)[:, None, None, None] + noise * time[:, None, None, None]
        loss = F.mse_loss(model(noised, time), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
