"""Standard logging with a memory handler: each record keeps the tensor that it was given as an argument."""

import logging
import logging.handlers
import os

import torch
import torch.nn as nn

log = logging.getLogger("train")
log.setLevel(logging.DEBUG)
log.propagate = False
log.addHandler(logging.handlers.MemoryHandler(capacity=100_000, flushLevel=logging.CRITICAL))


def train(iterations: int) -> None:
    model = nn.Sequential(nn.Linear(800, 800), nn.ReLU(), nn.Linear(800, 800)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for iteration in range(iterations):
        x = torch.randn(400, 800, device="cuda")
        prediction = model(x)  # leak
        loss = nn.functional.smooth_l1_loss(prediction, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.debug("iteration %d prediction %s", iteration, prediction.detach())  # leak
        print("iteration", iteration, loss.item())


train(int(os.environ.get("STEPS", 30)))
