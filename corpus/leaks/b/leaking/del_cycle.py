"""Workspaces with a reference cycle and __del__, in a job that froze the garbage collector's view of the world."""

import gc
import os
import weakref

import torch
import torch.nn as nn

gc.set_threshold(1_000_000, 1_000, 1_000)
alive: "weakref.WeakSet[Workspace]" = weakref.WeakSet()


class Workspace:
    def __init__(self, rows: int) -> None:
        self.scratch = torch.empty(rows, 1024, device="cuda")  # leak
        self.release = self.finish  # leak
        alive.add(self)

    def finish(self) -> None:
        self.scratch.zero_()

    def __del__(self) -> None:
        alive.discard(self)


def main(iterations: int) -> None:
    layer = nn.Linear(512, 1024).cuda()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for iteration in range(iterations):
        workspace = Workspace(300)  # leak
        x = torch.randn(300, 512, device="cuda")
        workspace.scratch.copy_(layer(x).detach())
        loss = (layer(x) - workspace.scratch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("iteration", iteration, "workspaces", len(alive))


main(int(os.environ.get("STEPS", 30)))
