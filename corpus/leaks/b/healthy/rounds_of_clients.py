"""Federated learning in one process: a client's model and optimizer live for its round only."""

import copy
import os
import random

import torch
import torch.nn as nn


def train_client(model: nn.Module, batches: int) -> nn.Module:
    local = copy.deepcopy(model)
    optimizer = torch.optim.SGD(local.parameters(), lr=0.1, momentum=0.9)
    for _ in range(batches):
        x = torch.randn(100, 400, device="cuda")
        loss = (local(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return local


@torch.no_grad()
def merge(model: nn.Module, clients: list[nn.Module]) -> None:
    for name, parameter in model.named_parameters():
        parameter.copy_(torch.stack([client.get_parameter(name) for client in clients]).mean(0))


def main(rounds: int) -> None:
    random.seed(71)
    model = nn.Sequential(nn.Linear(400, 400), nn.ReLU(), nn.Linear(400, 400)).cuda()
    for number in range(rounds):
        clients = [train_client(model, batches=random.randint(1, 3)) for _ in range(random.randint(2, 4))]
        merge(model, clients)
        print("round", number, "clients", len(clients))


main(int(os.environ.get("STEPS", 30)))
