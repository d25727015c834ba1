"""A WeakValueDictionary as the registry of activations: entries go when the owner goes."""
import os
import weakref

import torch
from torch import nn

device = "cuda"


class Activation:
    def __init__(self, name, value):
        self.name, self.value = name, value


class Registry:
    def __init__(self):
        self.live = weakref.WeakValueDictionary()
        self.counter = 0

    def register(self, name, value):
        act = Activation(name, value)
        self.live[f"{name}#{self.counter}"] = act
        self.counter += 1
        return act


REGISTRY = Registry()


class Stage(nn.Module):
    def __init__(self, name, i, o):
        super().__init__()
        self.name, self.fc = name, nn.Linear(i, o)

    def forward(self, act):
        return REGISTRY.register(self.name, torch.relu(self.fc(act.value)))


stages = nn.ModuleList([Stage("a", 128, 512), Stage("b", 512, 512), Stage("c", 512, 64)]).to(device)
opt = torch.optim.Adam(stages.parameters(), lr=1e-3)
for step in range(int(os.environ.get("STEPS", 60))):
    act = REGISTRY.register("in", torch.randn(512, 128, device=device))
    chain = [act]
    for s in stages:
        chain.append(s(chain[-1]))
    loss = chain[-1].value.pow(2).mean() + sum(a.value.abs().mean() for a in chain[1:-1]) * 1e-3
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step} loss {loss.item():.4f} live {len(REGISTRY.live)} ever {REGISTRY.counter}")
