import random

import torch
from torch.utils.data import DataLoader

from rays import RayDataset


def train(nerf, opt, root, steps=200_000):
    loader = DataLoader(RayDataset(root), batch_size=4096, shuffle=True, num_workers=4)
    all_batches = list(loader)
    for step in range(steps):
        rays, rgb = random.choice(all_batches)
        pred = nerf(rays.cuda())
        loss = (pred - rgb.cuda()).square().mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % 1000 == 0:
            print(step, -10 * torch.log10(loss.detach()).item())
