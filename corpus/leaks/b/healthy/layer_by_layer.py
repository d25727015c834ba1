"""Greedy layer-wise training: a layer more every few iterations, until the network is whole."""

import os

import torch
import torch.nn as nn


def main(iterations: int) -> None:
    layers = nn.ModuleList([nn.Linear(600, 600)]).cuda()
    head = nn.Linear(600, 600).cuda()
    optimizer = torch.optim.SGD([*layers.parameters(), *head.parameters()], lr=0.05, momentum=0.9)
    for iteration in range(iterations):
        if iteration in (4, 8, 12):
            layer = nn.Linear(600, 600).cuda()
            layers.append(layer)
            optimizer.add_param_group({"params": layer.parameters()})
        x = torch.randn(128, 600, device="cuda")
        h = x
        for layer in layers:
            h = torch.tanh(layer(h))
        loss = (head(h) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("iteration", iteration, "layers", len(layers), loss.item())


main(int(os.environ.get("STEPS", 30)))
