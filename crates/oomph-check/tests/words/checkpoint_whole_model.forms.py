import torch
from torch.utils import checkpoint
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained('gpt2').cuda()
optimizer = torch.optim.AdamW(model.parameters())


def train(loader):
    for batch in loader:
        ids = batch['input_ids'].cuda()
        out = checkpoint.checkpoint(lambda i: model(i, labels=i).loss, ids, use_reentrant=False)  # <-
        out.backward()
        optimizer.step()
        optimizer.zero_grad()
# ---
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.GELU()) for _ in range(depth)])

    def forward(self, x):
        return checkpoint(self.layers, x, use_reentrant=False)  # <-


def train(loader):
    net = Net(64).cuda()
    opt = torch.optim.Adam(net.parameters())
    for x, y in loader:
        loss = nn.functional.mse_loss(net(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(512, 8) for _ in range(24)])

    def _run(self, x):
        for b in self.blocks:
            x = b(x)
        return x

    def forward(self, x):
        return checkpoint(self._run, x, use_reentrant=False)  # <-


def train(loader):
    net = Net().cuda()
    opt = torch.optim.Adam(net.parameters())
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(net(x.cuda()), y.cuda()).backward()
        opt.step()
# ---
import torch
from torch.utils.checkpoint import checkpoint
import lightning as L


class Lit(L.LightningModule):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone

    def training_step(self, batch, idx):
        x, y = batch
        logits = checkpoint(self.backbone, x, use_reentrant=False)  # <-
        return torch.nn.functional.cross_entropy(logits, y)
# ---
import torch
from torch.utils.checkpoint import checkpoint_sequential
from torch import nn

net = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(32)]).cuda()
opt = torch.optim.SGD(net.parameters(), lr=1e-3)


def fit(loader):
    for x, y in loader:
        out = checkpoint_sequential(net, 1, x.cuda(), use_reentrant=False)  # <-
        opt.zero_grad()
        (out - y.cuda()).pow(2).mean().backward()
        opt.step()
# ---
import torch
from torch.utils.checkpoint import checkpoint


def train(model, loader, opt):
    for batch in loader:
        opt.zero_grad()
        logits = checkpoint(model.forward, batch['x'].cuda(), use_reentrant=False)  # <-
        torch.nn.functional.cross_entropy(logits, batch['y'].cuda()).backward()
        opt.step()
