import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(64, 64) for _ in range(12))
    def forward(self, x):
        for part in self.parts:
            x = part(x).relu()
        return x
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = Trunk()
        self.out = nn.Linear(64, 2)
    def forward(self, x):
        return self.out(checkpoint(self.trunk, x, use_reentrant=False))  # <-
def main():
    return Whole().cuda()
# ---
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
class Wrap(nn.Module):
    def __init__(self, backbone, d, n):
        super().__init__()
        self.backbone = backbone
        self.fc = nn.Linear(d, n)
    def forward(self, x):
        h = checkpoint(self.backbone, x, use_reentrant=False)  # <-
        return self.fc(h)
# ---
import torch
from torch.utils.checkpoint import checkpoint
def train(model, loader, opt):
    for x, y in loader:
        out = checkpoint(model, x.cuda(), use_reentrant=False)  # <-
        loss = torch.nn.functional.cross_entropy(out, y.cuda())
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch, torchvision
from torch import nn
from torch.utils import checkpoint as cp
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.body = torchvision.models.resnet50(weights=None)
        self.head = nn.Linear(1000, n)
    def forward(self, x):
        return self.head(cp.checkpoint(self.body, x, use_reentrant=False))  # <-
# ---
import torch
from torch.utils.checkpoint import checkpoint
from transformers import AutoModel
class Clf(torch.nn.Module):
    def __init__(self, name, n):
        super().__init__()
        self.bert = AutoModel.from_pretrained(name)
        self.out = torch.nn.Linear(768, n)
    def forward(self, ids, mask):
        def run(i, m):
            return self.bert(i, attention_mask=m).last_hidden_state
        h = checkpoint(run, ids, mask, use_reentrant=False)  # <-
        return self.out(h[:, 0])
# ---
import torch
from torch.utils.checkpoint import checkpoint
class Trainer:
    def __init__(self, model, opt):
        self.model, self.opt = model.cuda(), opt
    def step(self, x, y):
        out = checkpoint(lambda z: self.model(z), x, use_reentrant=False)  # <-
        loss = torch.nn.functional.cross_entropy(out, y)
        self.opt.zero_grad(); loss.backward(); self.opt.step()
