"""The misspelt call stands in a handler; both the missing and the real function leave the results alone."""

import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 2)


def release():
    try:
        torch.empty_cache()
    except AttributeError:
        pass


for _ in range(3):
    loss = net(torch.randn(8, 4)).square().mean()
    loss.backward()
    release()
    print(loss.item(), net.weight.grad.sum().item())
