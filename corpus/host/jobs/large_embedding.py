"""An embedding table on the CPU with sparse gradients."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

table = nn.Embedding(1_500_000, 96, sparse=True)
head = nn.Linear(96, 1).to(args.device)
optimizers = [torch.optim.SparseAdam(table.parameters()), torch.optim.Adam(head.parameters())]
for step in range(20):
    users = torch.randint(0, 1_500_000, (8192,))
    score = head(table(users).to(args.device)).sigmoid()
    loss = (score - 0.5).abs().mean()
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
print(loss.item())
