"""Sentences of every length, padded to the longest of their batch."""

import os
import random

import torch
from torch import nn

random.seed(11)
steps = int(os.environ.get("STEPS", 30))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(8000, 256)
        self.encoder = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
        self.head = nn.Linear(256, 17)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens)))


model = Tagger().cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)

for step in range(steps):
    lengths = [random.randint(5, 180) for _ in range(24)]
    tokens = torch.zeros(24, max(lengths), dtype=torch.long)
    for row, length in enumerate(lengths):
        tokens[row, :length] = torch.randint(1, 8000, (length,))
    tokens = tokens.cuda()
    loss = model(tokens).logsumexp(-1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "length", max(lengths), "loss", loss.item())
