"""Message passing on graphs with random numbers of nodes and edges."""

import os

import torch
import torch.nn as nn


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.message = nn.Linear(2 * width, width)
        self.update = nn.Linear(2 * width, width)

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        messages = torch.relu(self.message(torch.cat([nodes[edges[0]], nodes[edges[1]]], 1)))
        gathered = torch.zeros_like(nodes).index_add(0, edges[1], messages)
        return torch.relu(self.update(torch.cat([nodes, gathered], 1)))


def main(iterations: int) -> None:
    torch.manual_seed(2)
    layers = nn.ModuleList(Layer(128) for _ in range(3)).cuda()
    optimizer = torch.optim.Adam(layers.parameters())
    for iteration in range(iterations):
        count = int(torch.randint(50, 2000, ()))
        edges = torch.randint(0, count, (2, count * int(torch.randint(1, 6, ())))).cuda()
        nodes = torch.randn(count, 128).cuda()
        for layer in layers:
            nodes = layer(nodes, edges)
        loss = nodes.mean(0).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("iteration", iteration, "nodes", count, "edges", edges.shape[1])


main(int(os.environ.get("STEPS", 30)))
