import torch
from torch import nn

net = nn.Linear(8, 2)
seen = []


def keep(module, args, output):
    seen.append(output.detach())


net.register_forward_hook(keep)
