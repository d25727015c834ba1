"""A producer thread that fills an unbounded queue faster than the training takes batches out."""

import os
import queue
import threading

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))
batches = queue.Queue()
wanted, bursts = threading.Semaphore(0), threading.Semaphore(0)


def produce():
    for _ in range(steps):
        wanted.acquire()
        for _ in range(3):
            x = torch.randn(256, 1024)
            batches.put(x.to("cuda"))  # leak
        bursts.release()


producer = threading.Thread(target=produce)
producer.start()

model = nn.Sequential(nn.Linear(1024, 128), nn.ReLU(), nn.Linear(128, 1024)).cuda()
opt = torch.optim.Adam(model.parameters())

for step in range(steps):
    wanted.release()
    bursts.acquire()
    x = batches.get()
    loss = (model(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "waiting", batches.qsize())

producer.join()
