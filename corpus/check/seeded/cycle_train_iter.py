import itertools

import torch
from torch.utils.data import DataLoader


def train(cfg, model, dataset, optimizer):
    dl = DataLoader(dataset, cfg.batch, shuffle=True, num_workers=cfg.workers, drop_last=True)
    stream = itertools.cycle(dl)
    for step in range(cfg.steps):
        batch = next(stream)
        loss = model(batch["pixels"].cuda(), batch["ids"].cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
