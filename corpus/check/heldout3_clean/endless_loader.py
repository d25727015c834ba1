"""Infinite batches without itertools.cycle; cycle is used for the learning-rate list only."""
from itertools import cycle, islice

import torch
import torch.nn.functional as F


def forever(loader):
    while True:
        yield from loader


def train(net, labelled, unlabelled, steps, device="cuda"):
    net.to(device).train()
    opt = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)
    rates = cycle([0.03, 0.01, 0.003])
    for step, ((x, y), u) in enumerate(islice(zip(forever(labelled), forever(unlabelled)), steps)):
        if step % 1000 == 0:
            for g in opt.param_groups:
                g["lr"] = next(rates)
        x, y, u = x.to(device), y.to(device), u.to(device)
        with torch.no_grad():
            soft = net(u).softmax(1)
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y) + F.mse_loss(net(u).softmax(1), soft)
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(step, loss.item())
