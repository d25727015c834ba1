"""Every iteration's total loss goes into a list for the plot; the auxiliary part was never backpropagated."""

import os

import torch
from torch import nn

STEPS = int(os.environ.get("STEPS", 30))

encoder = nn.Sequential(nn.Linear(784, 1024), nn.GELU(), nn.Linear(1024, 64)).cuda()
decoder = nn.Sequential(nn.Linear(64, 1024), nn.GELU(), nn.Linear(1024, 784)).cuda()
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)

reconstruction_losses = []
sparsity_losses = []

for i in range(STEPS):
    images = torch.rand(384, 784, device="cuda")
    code = encoder(images)
    rebuilt = decoder(code)
    loss = (rebuilt - images).pow(2).mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    reconstruction_losses.append(loss.item())

    sparsity = encoder(images).abs().mean()  # leak
    sparsity_losses.append(sparsity)  # leak
    print("step", i, "loss", reconstruction_losses[-1], "sparsity", len(sparsity_losses))
