"""A stand-in for a SummaryWriter that keeps its images as numpy arrays and is flushed by nobody."""
import os
import time

import numpy as np
import torch
from torch import nn

device = "cuda"


class Writer:
    def __init__(self):
        self.scalars = []
        self.images = []

    def add_scalar(self, tag, value, step):
        self.scalars.append((time.time(), tag, float(value), step))

    def add_images(self, tag, batch, step):
        arr = batch.detach().cpu().numpy()
        arr = (np.clip(arr, 0, 1) * 255).astype(np.float32)
        grid = np.concatenate(list(arr.transpose(0, 2, 3, 1)), axis=1)  # leak
        self.images.append((tag, step, grid))  # leak


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(3, 12, 4, stride=2, padding=1)
        self.dec = nn.ConvTranspose2d(12, 3, 4, stride=2, padding=1)

    def forward(self, x):
        return torch.sigmoid(self.dec(torch.relu(self.enc(x))))


writer = Writer()
model = AutoEncoder().to(device)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(int(os.environ.get("STEPS", 60))):
    x = torch.rand(16, 3, 96, 96, device=device)
    out = model(x)
    loss = nn.functional.mse_loss(out, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    writer.add_scalar("loss", loss.item(), step)
    writer.add_images("recon", out, step)  # leak
    print(f"{step}\t{loss.item():.5f}")
