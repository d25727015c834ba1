import torch
feats = []
def attach(model):
    model.layer4.register_forward_hook(lambda m, i, o: feats.append(o))  # <-
def run(model, loader):
    attach(model)
    for x, _ in loader:
        model(x.cuda())
# ---
import torch
class Grabber:
    def __init__(self, net):
        self.store = {}
        for name, m in net.named_modules():
            m.register_forward_hook(self.make(name))
    def make(self, name):
        self.store[name] = []
        def hook(module, inputs, output):
            self.store[name].append(output)  # <-
        return hook
def run(net, loader):
    g = Grabber(net)
    for x, _ in loader:
        net(x.cuda())
# ---
import torch
class Recorder:
    def __init__(self, layer):
        self.seen = []
        self.handle = layer.register_forward_hook(self.keep)
    def keep(self, module, inputs, output):
        self.seen.append(output)  # <-
def collect(net, files, read):
    rec = Recorder(net.pool)
    for file in sorted(files):
        net(read(file).cuda())
    return torch.cat([o.detach().cpu() for o in rec.seen])
# ---
import torch
def collect(net, names, read):
    acts = []
    def keep(module, inputs, output):
        acts.append(output)  # <-
    handle = net.norm.register_forward_hook(keep)
    for name in names:
        net(read(name).cuda())
    handle.remove()
    return torch.stack([a.mean() for a in acts])
# ---
import torch
from torchvision.models import resnet18
bank = {}
def grab(name):
    def keep(module, inputs, output):
        bank.setdefault(name, []).append(output)  # <-
    return keep
net = resnet18().cuda().eval()
for name in ["layer1", "layer2"]:
    getattr(net, name).register_forward_hook(grab(name))
def run(loader):
    for x, _ in loader:
        net(x.cuda())
# ---
import torch
class Watch:
    def __init__(self, net):
        self.kept = {}
        for name, part in net.named_children():
            part.register_forward_hook(self.watch(name))
    def watch(self, name):
        def hook(module, args, out):
            hidden, _ = out
            self.kept.setdefault(name, []).append(hidden)  # <-
        return hook
def main(net, loader):
    watch = Watch(net)
    for x, _ in loader:
        net(x.cuda())
    return watch
# ---
import torch


def embeddings(model, loader):
    kept = []

    def keep(module, args, output):
        output = output.detach()
        kept.append(output)  # <-

    model.fc1.register_forward_hook(keep)
    with torch.no_grad():
        for x, y in loader:
            print(model(x.float()).argmax(1))
# ---
import torch
from torch import nn
class Stats:
    def __init__(self):
        self.samples = {}
    def hook_for(self, name):
        def fn(module, inputs, output):
            self.samples.setdefault(name, []).append(output.abs())  # <-
        return fn
def fit(net, loader, opt):
    s = Stats()
    hs = [m.register_forward_hook(s.hook_for(n)) for n, m in net.named_modules() if isinstance(m, nn.Conv1d)]
    for x, y in loader:
        loss = (net(x.cuda()) - y.cuda()).abs().mean()
        opt.zero_grad(), loss.backward(), opt.step()
    for h in hs: h.remove()
    return s.samples
# ---
import torch
acts = []
def keep(m, i, o):
    acts.append(o * 2)  # <-
def fit(net, loader, opt):
    net.layer1.register_forward_hook(keep)
    for x, y in loader:
        loss = (net(x.cuda()) - y.cuda()).abs().mean()
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
from collections import defaultdict
class Tap:
    def __init__(self, net):
        self.acts = defaultdict(list)
        for n, m in net.named_children():
            m.register_forward_hook(self.make(n))
    def make(self, n):
        return lambda m, i, o: self.acts[n].append(o)  # <-
def fit(net, loader, opt):
    net.cuda()
    tap = Tap(net)
    for x, y in loader:
        loss = (net(x.cuda()) - y.cuda()).abs().mean()
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
from functools import partial
def keep(store, name, module, inp, out):
    store[name].append(out.mean(dim=1))  # <-
def fit(net, loader, opt):
    store = {n: [] for n, _ in net.named_children()}
    for n, m in net.named_children():
        m.register_forward_hook(partial(keep, store, n))
    for x, y in loader:
        loss = (net(x.cuda()) - y.cuda()).abs().mean()
        opt.zero_grad(), loss.backward(), opt.step()
    return store
# ---
import torch
class Probe:
    def __init__(self):
        self.outs = []
    def __call__(self, module, inputs, output):
        self.outs.append(output[0])  # <-
def fit(net, loader, opt):
    p = Probe()
    net.blocks[3].register_forward_hook(p)
    for x, y in loader:
        loss = (net(x.cuda()) - y.cuda()).abs().mean()
        opt.zero_grad(), loss.backward(), opt.step()
