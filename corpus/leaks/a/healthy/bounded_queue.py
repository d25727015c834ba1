"""A producer thread behind a queue of limited size."""

import os
import queue
import threading

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))
batches = queue.Queue(maxsize=4)


def produce():
    for _ in range(steps):
        batches.put((torch.randn(256, 1024).to("cuda"), torch.randn(256, 1).to("cuda")))
    batches.put(None)


threading.Thread(target=produce, daemon=True).start()
model = nn.Sequential(nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 1)).cuda()
opt = torch.optim.Adam(model.parameters())

step = 0
while (batch := batches.get()) is not None:
    x, y = batch
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, loss.item())
    step += 1
