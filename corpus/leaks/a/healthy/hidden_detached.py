"""Truncated backpropagation through time, with the hidden state detached between windows."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))
vocab = 96

embed = nn.Embedding(vocab, 256).cuda()
gru = nn.GRU(256, 512, batch_first=True).cuda()
head = nn.Linear(512, vocab).cuda()
params = [p for module in (embed, gru, head) for p in module.parameters()]
opt = torch.optim.RMSprop(params, lr=1e-3)
hidden = None

for step in range(steps):
    text = torch.randint(0, vocab, (32, 65), device="cuda")
    out, hidden = gru(embed(text[:, :-1]), hidden)
    hidden = hidden.detach()
    loss = nn.functional.cross_entropy(head(out).flatten(0, 1), text[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "loss", loss.item())
