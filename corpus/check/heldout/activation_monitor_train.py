import torch
from torch import nn

activations = []


def grab(module, inputs, output):
    activations.append(output)


def train(net: nn.Sequential, loader, opt):
    net[2].register_forward_hook(grab)
    for i, (x, y) in enumerate(loader):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
        if i % 50 == 0:
            dead = (activations[-1] <= 0).float().mean().item()
            print(f"{i}: {loss.item():.3f}, dead units {dead:.2%}")
