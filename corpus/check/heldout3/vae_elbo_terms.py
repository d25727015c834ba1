#!/usr/bin/env python
"""beta-VAE on sprites; all loss terms are put in one dictionary and plotted at the end."""
import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

cfg = {"latent": 10, "beta": 4.0, "lr": 1e-3, "epochs": 40, "batch": 256, "device": "cuda:0"}


class VAE(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(), nn.Flatten(),
            nn.Linear(64 * 16 * 16, 2 * latent),
        )
        self.dec = nn.Sequential(
            nn.Linear(latent, 64 * 16 * 16), nn.Unflatten(1, (64, 16, 16)), nn.ReLU(),
            nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 1, 4, 2, 1),
        )

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def elbo(x, recon, mu, logvar, beta):
    rec = nn.functional.binary_cross_entropy_with_logits(recon, x, reduction="sum") / len(x)
    kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1).mean()
    return {"rec": rec, "kl": kl, "loss": rec + beta * kl}


def main():
    images = torch.load("sprites.pt", map_location="cpu").float()
    loader = DataLoader(TensorDataset(images), cfg["batch"], shuffle=True)
    model = VAE(cfg["latent"]).to(cfg["device"])
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    history = {"rec": [], "kl": [], "loss": []}
    for epoch in range(cfg["epochs"]):
        for (x,) in loader:
            x = x.to(cfg["device"])
            terms = elbo(x, *model(x), cfg["beta"])
            opt.zero_grad()
            terms["loss"].backward()
            opt.step()
            for name, value in terms.items():
                history[name] += [value]
    fig, axes = plt.subplots(1, 3, figsize=(12, 3))
    for ax, (name, values) in zip(axes, history.items()):
        ax.plot([float(v) for v in values])
        ax.set_title(name)
    fig.savefig("curves.png")


if __name__ == "__main__":
    main()
