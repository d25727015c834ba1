"""Two jobs share one card: keep this one in its half."""
import os

import torch
from torch import nn

if torch.cuda.is_available():
    torch.cuda.set_memory_fraction(float(os.environ.get("GPU_SHARE", "0.5")))


def build(width):
    return nn.Sequential(nn.Linear(784, width), nn.ReLU(), nn.Linear(width, 10))


def main():
    model = build(4096).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(1000):
        x = torch.randn(512, 784, device="cuda")
        y = torch.randint(10, (512,), device="cuda")
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()


if __name__ == "__main__":
    main()
