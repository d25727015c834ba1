"""Per-sample records are written out every few iterations and dropped."""

import json
import os
import tempfile

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

model = nn.Linear(100, 1).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
records = []

with tempfile.TemporaryFile("w") as out:
    for step in range(steps):
        x = torch.randn(4096, 100)
        scores = model(x.cuda()).squeeze(1)
        loss = scores.square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        records.extend({"step": step, "row": row, "score": value} for row, value in enumerate(scores.tolist()))
        if len(records) >= 12_000:
            out.write(json.dumps(records))
            records = []
        print("step", step, "waiting", len(records))
