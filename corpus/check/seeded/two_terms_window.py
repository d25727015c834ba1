import torch
import torch.nn as nn


def train(vae, opt, loader, beta=1.0):
    recon_fn = nn.MSELoss(reduction="sum")
    sum_rec, sum_kl = 0, 0
    for it, x in enumerate(loader, start=1):
        x = x.cuda(non_blocking=True)
        opt.zero_grad()
        xhat, mu, logvar = vae(x)
        rec = recon_fn(xhat, x)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum()
        (rec + beta * kl).backward()
        opt.step()
        sum_rec, sum_kl = sum_rec + rec, sum_kl + kl
    n = len(loader.dataset)
    print(f"rec {sum_rec / n:.3f}  kl {sum_kl / n:.3f}")
