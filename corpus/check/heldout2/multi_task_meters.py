from collections import defaultdict

import torch
import torch.nn.functional as F


def losses_of(model, batch):
    depth, normal, seg = model(batch["rgb"].cuda())
    return {
        "depth": F.l1_loss(depth, batch["depth"].cuda()),
        "normal": 1 - F.cosine_similarity(normal, batch["normal"].cuda()).mean(),
        "seg": F.cross_entropy(seg, batch["seg"].cuda()),
    }


def train(model, loader, opt):
    meter = defaultdict(float)
    for batch in loader:
        parts = losses_of(model, batch)
        total = sum(parts.values())
        opt.zero_grad()
        total.backward()
        opt.step()
        for name, value in parts.items():
            meter[name] += value
    return {k: float(v) / len(loader) for k, v in meter.items()}
