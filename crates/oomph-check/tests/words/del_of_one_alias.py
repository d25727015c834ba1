import torch
def f(model, x):
    out = model(x.cuda())
    keep = out
    del out  # <-
    torch.cuda.empty_cache()
    return keep.mean()
# ---
import torch
def f(model, loader):
    outs = []
    with torch.no_grad():
        for x in loader:
            o = model(x.cuda())
            outs.append(o)
            del o  # <-
            torch.cuda.empty_cache()
    return torch.cat(outs)
# ---
import torch

def run(model, dataset, optimizer, loss_fn):
    for sample in dataset:
        volume = sample["volume"].cuda()
        patches = volume.unfold(2, 64, 32).unfold(3, 64, 32)
        del volume  # <-
        torch.cuda.synchronize()
        loss_fn(model(patches.flatten(0, 2))).backward()
        optimizer.step()
        optimizer.zero_grad()
# ---
import torch
from torch import nn

def build(loader):
    net = nn.Linear(8192, 8192).cuda()
    solver = torch.optim.Adam(net.parameters())
    for x in loader:
        solver.zero_grad()
        net(x).sum().backward()
        solver.step()
    return net, solver

def both(loader, make):
    first, optimizer = build(loader)
    torch.save(first.state_dict(), "first.pt")
    del first  # <-
    torch.cuda.empty_cache()
    return make().cuda()
