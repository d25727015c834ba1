"""A service with bursts: now and then a request is ten times the usual one."""

import os
import random

import torch
import torch.nn as nn


class Service:
    def __init__(self) -> None:
        self.model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).cuda().eval()
        self.latest: torch.Tensor | None = None

    @torch.inference_mode()
    def handle(self, rows: int) -> list[float]:
        x = torch.randn(rows, 256).cuda()
        self.latest = self.model(x)
        return self.latest[:, 0].tolist()


def main(requests: int) -> None:
    random.seed(43)
    service = Service()
    for request in range(requests):
        rows = random.randint(50, 150) * (10 if random.random() < 0.15 else 1)
        answer = service.handle(rows)
        print("request", request, len(answer))


main(int(os.environ.get("STEPS", 30)))
