"""Activations are captured with a hook for one batch in five, used, and the hook removed."""

import os

import torch
import torch.nn as nn


class Capture:
    def __init__(self, layer: nn.Module) -> None:
        self.values: list[torch.Tensor] = []
        self.handle = layer.register_forward_hook(lambda m, i, o: self.values.append(o.detach()))

    def close(self) -> float:
        self.handle.remove()
        return torch.cat(self.values).std().item()


def main(iterations: int) -> None:
    body, head = nn.Linear(300, 1500).cuda(), nn.Linear(1500, 10).cuda()
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for iteration in range(iterations):
        capture = Capture(body) if iteration % 5 == 0 else None
        x, y = torch.randn(300, 300, device="cuda"), torch.randint(0, 10, (300,), device="cuda")
        loss = nn.functional.cross_entropy(head(body(x).relu()), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        spread = capture.close() if capture else 0.0
        print(f"iteration {iteration}: {loss.item():.4f} {spread:.3f}")


main(int(os.environ.get("STEPS", 30)))
