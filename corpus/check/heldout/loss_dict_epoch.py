from collections import defaultdict

import torch


def train_one_epoch(model, loader, optimizer, device):
    model.train()
    sums = defaultdict(float)
    for step, batch in enumerate(loader):
        batch = {k: v.to(device) for k, v in batch.items()}
        losses = model(batch)
        total = losses["completion"] + losses["semantic"]
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        for name, value in losses.items():
            sums[name] += value
    return {k: v / (step + 1) for k, v in sums.items()}
