"""Debug logging through a MemoryHandler with a huge capacity: the records keep the arrays they were called with."""
import logging
import logging.handlers
import os

import numpy as np
import torch
from torch import nn

device = "cuda"

log = logging.getLogger("train")
log.setLevel(logging.DEBUG)
log.propagate = False
memory = logging.handlers.MemoryHandler(capacity=10**6, flushLevel=logging.CRITICAL, target=logging.NullHandler())
log.addHandler(memory)


class Batcher:
    def __init__(self, rows, cols, seed=3):
        self.rng = np.random.default_rng(seed)
        self.shape = (rows, cols)

    def next(self):
        raw = self.rng.standard_normal(self.shape)  # leak
        log.debug("raw batch %s", raw)  # leak
        return torch.as_tensor(raw, dtype=torch.float32)


model = nn.Linear(200, 50).to(device)
opt = torch.optim.Adagrad(model.parameters(), lr=0.01)
batcher = Batcher(900, 200)
for step in range(int(os.environ.get("STEPS", 60))):
    x = batcher.next().to(device)  # leak
    loss = model(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    log.info("step %d loss %f", step, loss.item())
    print(f"step {step}: {loss.item():.5f}")
