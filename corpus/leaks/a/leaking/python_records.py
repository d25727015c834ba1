"""Per-token records as Python objects: one dict a token, kept for all iterations."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

model = nn.Embedding(5000, 64).cuda()
head = nn.Linear(64, 1).cuda()
opt = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
records = []

for step in range(steps):
    tokens = torch.randint(0, 5000, (64, 128))
    scores = head(model(tokens.cuda())).squeeze(-1)
    loss = scores.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for row, values in enumerate(scores.tolist()):
        for column, value in enumerate(values):
            records.append({"step": step, "at": (row, column), "text": f"token-{row}-{column}", "score": value + step})  # leak
    print(f"step {step}: {len(records)} records")
