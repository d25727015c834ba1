# --- bad
import torch

def collect(model, loader):
    sums = []
    for x, _ in loader:
        model.fc.register_forward_hook(lambda m, i, o: sums.append(o.sum().item()))
        model(x)
    return sums
# --- good
import torch

def collect(model, loader):
    sums = []
    handle = model.fc.register_forward_hook(lambda m, i, o: sums.append(o.sum().item()))
    try:
        for x, _ in loader:
            model(x)
    finally:
        handle.remove()
    return sums
# --- bad
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, x):
        self.body.register_forward_hook(self.note)
        return self.body(x)

    def note(self, module, inputs, output):
        print(output.shape)
# --- good
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.body.register_forward_hook(self.note)

    def forward(self, x):
        return self.body(x)

    def note(self, module, inputs, output):
        print(output.shape)
# --- bad
import torch

def activations(model, x):
    found = []
    model.layer4.register_forward_hook(lambda m, i, o: found.append(o.detach()))
    model(x)
    return found[0]

def run(model, loader):
    for x, _ in loader:
        print(activations(model, x).mean())
# --- good
import torch

def activations(model, x):
    found = []
    handle = model.layer4.register_forward_hook(lambda m, i, o: found.append(o.detach()))
    model(x)
    handle.remove()
    return found[0]

def run(model, loader):
    for x, _ in loader:
        print(activations(model, x).mean())
# --- bad
import torch
from torch import nn

class Features:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))

    def extract(self, x):
        self.model[0].register_forward_hook(self.keep)
        return self.model(x)

    def keep(self, module, args, out):
        self.out = out.detach()
# --- good
import torch
from torch import nn

class Features:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))
        self.model[0].register_forward_hook(self.keep)

    def extract(self, x):
        return self.model(x)

    def keep(self, module, args, out):
        self.out = out.detach()
# --- silent
import torch
from torch import nn

for epoch in range(3):
    for width in (8, 16):
        net = nn.Sequential(nn.Linear(width, 8), nn.Linear(8, 2))
        for name, layer in net.named_modules():
            layer.register_forward_hook(print)
        net(torch.randn(1, width))
# --- silent
import torch

def watch(model):
    for layer in model.children():
        layer.register_forward_hook(print)

watch(model)
# --- silent
import torch

for x, _ in loader:
    x = model(x)
    x.register_hook(lambda g: print(g.norm()))
    x.sum().backward()
# --- silent
import torch
from torch import nn

for width in (8, 16, 32):
    net = nn.Linear(width, width)
    net.register_forward_hook(print)
    net(torch.randn(1, width))
# --- silent
import torch

for epoch in range(3):
    handles = [m.register_forward_hook(print) for m in model.modules()]
    train(model)
    for handle in handles:
        handle.remove()
