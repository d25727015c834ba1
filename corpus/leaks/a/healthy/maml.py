"""Second-order MAML: the inner loop's graph is used by the outer loss and goes with it."""

import os

import torch
import torch.nn.functional as F

steps = int(os.environ.get("STEPS", 30))

w1 = torch.randn(40, 512, device="cuda").mul_(0.1).requires_grad_()
w2 = torch.randn(512, 1, device="cuda").mul_(0.1).requires_grad_()
opt = torch.optim.Adam([w1, w2], lr=1e-3)


def predict(x, a, b):
    return torch.relu(x @ a) @ b


for step in range(steps):
    outer = 0
    for task in range(4):
        x, y = torch.randn(128, 40, device="cuda"), torch.randn(128, 1, device="cuda")
        a, b = w1, w2
        for _ in range(2):
            inner = F.mse_loss(predict(x, a, b), y)
            ga, gb = torch.autograd.grad(inner, (a, b), create_graph=True)
            a, b = a - 0.01 * ga, b - 0.01 * gb
        outer = outer + F.mse_loss(predict(x, a, b), y)
    opt.zero_grad()
    outer.backward()
    opt.step()
    print(f"step {step}: {outer.item():.4f}")
