"""Grid search. A setting that does not fit is recorded, and the search goes on."""
from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Outcome:
    params: dict
    score: float | None = None
    error: BaseException | None = None


@dataclass
class Search:
    grid: dict[str, list]
    outcomes: list[Outcome] = field(default_factory=list)

    def settings(self):
        for combo in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, combo))

    def run(self, objective):
        for params in self.settings():
            try:
                self.outcomes.append(Outcome(params, score=objective(**params)))
            except (torch.OutOfMemoryError, ValueError) as err:
                self.outcomes.append(Outcome(params, error=err))
        return max((o for o in self.outcomes if o.score is not None), key=lambda o: o.score)


def objective(width: int, depth: int, batch: int) -> float:
    layers = [nn.Linear(4096, width)]
    for _ in range(depth):
        layers += [nn.GELU(), nn.Linear(width, width)]
    net = nn.Sequential(*layers, nn.Linear(width, 10)).cuda()
    opt = torch.optim.Adam(net.parameters())
    last = 0.0
    for _ in range(200):
        x = torch.randn(batch, 4096, device="cuda")
        loss = net(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        last = loss.item()
    return -last


if __name__ == "__main__":
    s = Search({"width": [4096, 16384, 32768], "depth": [4, 16], "batch": [256, 8192]})
    print(s.run(objective))
