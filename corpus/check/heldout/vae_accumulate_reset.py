"""Train a convolutional VAE with a large effective batch."""
import argparse

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from models.vae import ConvVAE
from data.frames import FrameDataset


def elbo(recon, x, mu, logvar, beta):
    rec = F.mse_loss(recon, x, reduction="sum") / x.size(0)
    kl = -0.5 * torch.mean(1 + logvar - mu.pow(2) - logvar.exp())
    return rec + beta * kl


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--accum", type=int, default=8)
    ap.add_argument("--beta", type=float, default=1e-3)
    args = ap.parse_args()

    vae = ConvVAE(latent=128).to("cuda")
    optim = torch.optim.AdamW(vae.parameters(), lr=2e-4)
    loader = DataLoader(FrameDataset("train"), batch_size=4, shuffle=True, drop_last=True)

    step = 0
    for epoch in range(40):
        for frames in loader:
            optim.zero_grad()
            frames = frames.to("cuda")
            recon, mu, logvar = vae(frames)
            loss = elbo(recon, frames, mu, logvar, args.beta) / args.accum
            loss.backward()
            step += 1
            if step % args.accum == 0:
                torch.nn.utils.clip_grad_norm_(vae.parameters(), 1.0)
                optim.step()
        print(epoch, loss.item() * args.accum)


if __name__ == "__main__":
    main()
