"""A probe registers its hook before every batch and never removes it; each hook has a list of its own."""

import os

import torch
import torch.nn as nn


class Probe:
    def __init__(self, layer: nn.Module) -> None:
        self.seen: list[torch.Tensor] = []
        self.handle = layer.register_forward_hook(self)

    def __call__(self, module, args, output) -> None:
        if not self.seen:
            self.seen.append(output * 1.0)  # leak


def run(iterations: int) -> None:
    body = nn.Linear(400, 1600).cuda()
    head = nn.Linear(1600, 12).cuda()
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for iteration in range(iterations):
        probe = Probe(body)  # leak
        x = torch.randn(256, 400, device="cuda")
        y = torch.randint(0, 12, (256,), device="cuda")
        hidden = body(x)  # leak
        loss = nn.functional.cross_entropy(head(hidden.relu()), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(iteration, "hooks", len(body._forward_hooks), "probe", len(probe.seen))


run(int(os.environ.get("STEPS", 30)))
