# --- bad
import torch
import torch.distributed as dist

@torch.no_grad()
def evaluate(model, loader, world):
    seen = []
    for x, _ in loader:
        logits = model(x.cuda())
        parts = [torch.zeros_like(logits) for _ in range(world)]
        dist.all_gather(parts, logits)
        seen.append(torch.cat(parts).cpu())
    return seen
# --- good
import torch
import torch.distributed as dist

@torch.no_grad()
def evaluate(model, loader, world):
    right = torch.zeros((), device='cuda')
    for x, y in loader:
        right += (model(x.cuda()).argmax(1) == y.cuda()).sum()
    dist.all_reduce(right)
    return right.item()
# --- bad
import torch
import torch.distributed as dist

@torch.no_grad()
def collect(model, loader, world):
    outputs = []
    for x in loader:
        outputs.append(model(x.cuda()))
    everybody = [None] * world
    dist.all_gather_object(everybody, outputs)
    return everybody
# --- good
import torch
import torch.distributed as dist

@torch.no_grad()
def collect(model, loader, world):
    labels = []
    for x in loader:
        labels.extend(model(x.cuda()).argmax(1).tolist())
    everybody = [None] * world
    dist.all_gather_object(everybody, labels)
    return everybody
# --- bad
import torch.distributed as dist

def merge(features, world):
    everybody = [None] * world
    dist.all_gather_object(everybody, features.cuda())
    return everybody
# --- good
import torch.distributed as dist

def merge(features, world):
    everybody = [None] * world
    dist.all_gather_object(everybody, features.cpu())
    return everybody
# --- silent
import torch.distributed as dist

def merge(loss, world):
    everybody = [None] * world
    dist.all_gather_object(everybody, loss.cuda().mean().item())
    return everybody
# --- silent
import torch.distributed as dist

def merge(scores, world):
    everybody = [None] * world
    dist.all_gather_object(everybody, {'loss': 0.5, 'count': 12})
    return everybody
# --- silent
import torch
import torch.distributed as dist
from torch import nn

net = nn.Linear(8, 8)

def contrast(x, world):
    z = net(x)
    parts = [torch.zeros_like(z) for _ in range(world)]
    dist.all_gather(parts, z)
    return z @ torch.cat(parts).T
