# --- bad
from torch import nn

def set_trainable(module: nn.Module, flag: bool):
    for p in module.parameters():
        p.requires_gard = flag
# --- good
from torch import nn

def set_trainable(module: nn.Module, flag: bool):
    for p in module.parameters():
        p.requires_grad = flag
# --- bad
from torchvision.models import resnet18

model = resnet18()
for p in model.parameters():
    setattr(p, 'require_grad', False)
# --- good
from torchvision.models import resnet18

model = resnet18()
for p in model.parameters():
    setattr(p, 'requires_grad', False)
# --- bad
from torchvision.models import resnet50

model = resnet50()
for p in model.parameters():
    p.require_grad = False
# --- good
from torchvision.models import resnet50

model = resnet50()
for p in model.parameters():
    p.requires_grad = False
# --- bad
from torchvision.models import resnet50

model = resnet50()
for name, p in model.named_parameters():
    if not name.startswith('fc'):
        p.requires_grad == False
# --- good
from torchvision.models import resnet50

model = resnet50()
for name, p in model.named_parameters():
    if not name.startswith('fc'):
        p.requires_grad = False
# --- bad
from torch import nn
from transformers import AutoModel

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = AutoModel.from_pretrained('bert-base-cased')
        self.bert.requires_grad = False
        self.head = nn.Linear(768, 9)
# --- good
from torch import nn
from transformers import AutoModel

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = AutoModel.from_pretrained('bert-base-cased')
        self.bert.requires_grad_(False)
        self.head = nn.Linear(768, 9)
# --- silent
import torch
from torch import nn
from transformers import AutoModel

class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.norm.requires_grad = False
        self.text = AutoModel.from_pretrained('bert-base-cased')
        for p in self.text.parameters():
            p.requires_grade = False
        self.head = nn.Linear(768, 9)

    def forward(self, ids):
        # self.norm(...) did no good
        with torch.inference_mode():
            out = self.text(ids)
        return self.head(out.pooler_output)
# --- silent
import torch
from torch import nn

class Adapted(nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.adapters = nn.ModuleList()
        for _ in range(3):
            self.adapters.append(nn.ParameterDict({'a': nn.Parameter(torch.zeros(rank, 8))}))

    def begin(self):
        for adapter in self.adapters:
            adapter['a'].requires_grad = False

    def forward(self, x):
        return x @ self.adapters[0]['a'].T
# --- silent
from torch import nn

class Positions(nn.Embedding):
    @staticmethod
    def fill(out: nn.Parameter):
        out.requires_grad = False
        return out
# --- silent
import torch

def quantise(model):
    model._requires_grad = False
    return model
# --- silent
import torch
from torch import nn

class Lora(nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.rows = nn.ParameterList([torch.zeros(1, 8) for _ in range(rank)])

    def forward(self, x, upto):
        for i in range(upto):
            self.rows[i].requires_grad = False
        return x @ torch.cat(tuple(self.rows)).T
# --- silent
import torch

class Options:
    requires_graph = False

def build(options, flag):
    options.require_grad = flag
    return options
# --- silent
import torch

class Config:
    def __init__(self, require_grad):
        self.require_grad = require_grad

    def build(self, n):
        return torch.zeros(n, requires_grad=self.require_grad)
# --- silent
import torch

def freeze(spec):
    spec.require_grad = False

def tensor_for(spec):
    return torch.zeros(3, requires_grad=spec.require_grad)
# --- silent
import torch
from torch import nn

w = nn.Linear(3, 3).weight
w.requires_grad = False
assert w.requires_grad == False
frozen = w.requires_grad == False
