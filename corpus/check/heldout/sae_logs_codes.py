from collections import defaultdict

import torch


def log_metrics(logs, z, loss, recon, x):
    logs["z"].append(z[::10])
    logs["loss"].append(loss.item())
    logs["r2"].append((1 - (recon - x).var() / x.var()).item())


def train_sae(sae, loader, opt, l1=1e-3, epochs=5):
    logs = defaultdict(list)
    for _ in range(epochs):
        for (x,) in loader:
            x = x.cuda()
            opt.zero_grad()
            z, recon = sae(x)
            loss = (recon - x).square().mean() + l1 * z.abs().mean()
            loss.backward()
            opt.step()
            log_metrics(logs, z, loss, recon, x)
    return logs
