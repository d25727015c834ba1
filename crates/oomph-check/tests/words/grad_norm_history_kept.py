import torch
def fit(net, samples, opt, crit, epochs):
    history = []
    for epoch in range(epochs):
        for i in torch.randperm(len(samples)).tolist():
            x, y = samples[i]
            loss = crit(net(x), y)
            opt.zero_grad()
            loss.backward()
            history.append(torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0))  # <-
            opt.step()
    return history
# ---
import torch
from torch.nn.utils import clip_grad_norm_
class Runner:
    def run(self, net, packs, opt):
        sizes = list()
        for round in range(100):
            for pack in packs:
                opt.zero_grad()
                net(pack).sum().backward()
                size = clip_grad_norm_(net.parameters(), 5.0)
                opt.step()
                sizes.append(size)  # <-
        print(max(sizes))
# ---
import torch
def grad_norm(net):
    return torch.stack([p.grad.norm() for p in net.parameters()]).norm()
def go(net, opt, loader):
    seen = []
    for x in loader:
        opt.zero_grad()
        net(x.cuda()).sum().backward()
        seen.append(grad_norm(net))  # <-
        opt.step()
    return seen
# ---
import torch
def go(net, opt, loader):
    seen = []
    for x in loader:
        opt.zero_grad()
        net(x.cuda()).sum().backward()
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        seen.append((len(seen), norm))  # <-
        opt.step()
    return seen
# ---
import torch
def train(model, loader, opt):
    norms = []
    for x, y in loader:
        loss = model(x.cuda(), y.cuda())
        opt.zero_grad(), loss.backward()
        norms.append([p.grad for p in model.parameters()])  # <-
        opt.step()
# ---
import torch
def train(model, loader, opt):
    hist = {}
    for i, (x, y) in enumerate(loader):
        loss = model(x.cuda(), y.cuda())
        opt.zero_grad(), loss.backward()
        hist[i] = {n: p.grad.clone() for n, p in model.named_parameters()}  # <-
        opt.step()
