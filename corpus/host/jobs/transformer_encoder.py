"""An encoder of PyTorch's own layers, trained with AdamW and a schedule."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
model = nn.Sequential(nn.Embedding(8000, 512), nn.TransformerEncoder(layer, 3), nn.Linear(512, 8000)).to(args.device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
for step in range(8):
    tokens = torch.randint(0, 8000, (4, 64), device=args.device)
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    schedule.step()
print(loss.item())
