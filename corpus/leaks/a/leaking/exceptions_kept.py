"""Bad batches are skipped, and their exceptions kept for a report: each holds the frames and their tensors."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))
problems = []


class BadBatch(ValueError):
    pass


def forward(model, x):
    hidden = model[0](x)  # leak
    scores = model[1](torch.relu(hidden))  # leak
    if scores.shape[0] != 400:
        raise BadBatch(f"odd batch of {scores.shape[0]}")
    return scores


model = nn.Sequential(nn.Linear(300, 1200), nn.Linear(1200, 30)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.01)

for step in range(steps):
    x = torch.randn(400 - step % 2, 300, device="cuda")
    try:
        scores = forward(model, x)  # leak
    except BadBatch as error:
        problems.append(error)  # leak
    else:
        loss = scores.logsumexp(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("step", step, "problems", len(problems))
