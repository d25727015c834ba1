import torch
import torch.nn.functional as F


def meta_batch_update(net, optim, tasks, device):
    """One optimiser step over a meta batch of episodes."""
    net.train()
    optim.zero_grad()
    total = 0.
    for task in tasks:
        x, y = task.sample(64)
        logits = net(x.to(device))
        total = total + F.cross_entropy(logits, y.to(device))
    total = total / len(tasks)
    total.backward()
    optim.step()
    return total.item()
