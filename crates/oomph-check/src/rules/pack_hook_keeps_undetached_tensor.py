# --- bad
import torch

class Packed:
    def __init__(self, tensor):
        self.tensor = tensor

def step(model, x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: Packed(t), lambda p: p.tensor):
        return model(x).sum()
# --- good
import torch

class Packed:
    def __init__(self, tensor):
        self.tensor = tensor

def step(model, x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: Packed(t.detach()), lambda p: p.tensor):
        return model(x).sum()
# --- bad
import torch
from torch.autograd.graph import saved_tensors_hooks

def pack(tensor):
    if tensor.numel() < 1024:
        return (None, tensor)
    return (tensor.device, tensor.cpu())

def unpack(packed):
    device, tensor = packed
    return tensor if device is None else tensor.to(device)

def forward(net, batch):
    with saved_tensors_hooks(pack, unpack):
        return net(batch)
# --- good
import torch
from torch.autograd.graph import saved_tensors_hooks

def pack(tensor):
    if tensor.numel() < 1024:
        return (None, tensor.detach())
    return (tensor.device, tensor.cpu())

def unpack(packed):
    device, tensor = packed
    return tensor if device is None else tensor.to(device)

def forward(net, batch):
    with saved_tensors_hooks(pack, unpack):
        return net(batch)
# --- bad
import torch

class Recorder:
    def __init__(self):
        self.table = {}

    def pack(self, tensor):
        key = len(self.table)
        self.table[key] = tensor
        return key

    def unpack(self, key):
        return self.table[key]

    def __call__(self):
        return torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)
# --- good
import torch

class Recorder:
    def __init__(self):
        self.table = {}

    def pack(self, tensor):
        key = len(self.table)
        self.table[key] = tensor.detach()
        return key

    def unpack(self, key):
        return self.table.pop(key)

    def __call__(self):
        return torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)
# --- bad
import torch
from dataclasses import dataclass

@dataclass
class Saved:
    tensor: torch.Tensor

def pack(t):
    saved = Saved(tensor=t)
    return saved

def run(model, x):
    with torch.autograd.graph.saved_tensors_hooks(pack_hook=pack, unpack_hook=lambda saved: saved.tensor):
        return model(x)
# --- good
import torch
from dataclasses import dataclass

@dataclass
class Saved:
    tensor: torch.Tensor

def pack(t):
    saved = Saved(tensor=t.detach())
    return saved

def run(model, x):
    with torch.autograd.graph.saved_tensors_hooks(pack_hook=pack, unpack_hook=lambda saved: saved.tensor):
        return model(x)
# --- silent
import torch

def pack(t):
    sizes.append(t.numel())
    shapes[len(shapes)] = tuple(t.shape)
    return t.detach()

def run(model, x):
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        return model(x)
# --- silent
import torch

def offloaded(model, x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (t.device, t.cpu()), lambda p: p[1].to(p[0])):
        return model(x)
# --- silent
import torch

def pack(t):
    if isinstance(t, torch.nn.Parameter):
        return t
    return t.detach()

def run(model, x):
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        return model(x)
# --- silent
import torch, tempfile

def pack(t):
    name = tempfile.mktemp()
    torch.save(t, name)
    return name

def run(model, x):
    with torch.autograd.graph.saved_tensors_hooks(pack, torch.load):
        return model(x)
# --- silent
import torch

def pack(t):
    t = t.detach()
    return t

def run(model, x):
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        return model(x)
