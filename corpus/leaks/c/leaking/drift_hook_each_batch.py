"""A drift monitor puts a fresh forward hook on the encoder for each batch and forgets the handle."""
import os

import torch
from torch import nn

device = "cuda"
steps = int(os.environ.get("STEPS", 60))

encoder = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).to(device)
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-4)
drift = {}


def watch(module, step, reference):
    def hook(mod, inputs, output):
        if step not in drift:
            drift[step] = (output - reference).abs().mean().item()

    module.register_forward_hook(hook)  # leak


for step in range(steps):
    batch = torch.randn(640, 512, device=device)  # leak
    watch(encoder, step, batch)  # leak
    recon = encoder(batch)
    loss = (recon - batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{step}: mse={loss.item():.5f} drift={drift[step]:.5f}")
