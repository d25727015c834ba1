import torch
def cam(model, layer, x):
    kept = {}
    def note(m, i, o):
        kept["act"] = o
    layer.register_forward_hook(note)  # <-
    model(x).max().backward()
    return kept["act"].mean()
def main(model, paths, read):
    for path in paths:
        print(cam(model, model.layer4, read(path)))
# ---
from pathlib import Path
import torch
class Probe:
    def __init__(self, net):
        self.net = net
    def look(self, x):
        seen = []
        self.net.head.register_forward_pre_hook(lambda m, i: seen.append(i))  # <-
        self.net(x)
        return seen[-1]
def run(net, folder, read):
    probe = Probe(net)
    for file in Path(folder).glob("*.png"):
        probe.look(read(file))
# ---
import torch
def watch(net, x, shown):
    handle = net.fc.register_forward_hook(lambda m, i, o: shown.append(o.shape))  # <-
    return net(x)
def serve(net, queue):
    shown = []
    for request in queue:
        watch(net=net, x=request, shown=shown)
# ---
import torch
class Cam:
    def __init__(self, net, layer):
        self.net, self.layer = net, layer
    def __call__(self, x):
        self.layer.register_forward_hook(self.keep)  # <-
        return self.net(x).max()
    def keep(self, module, args, out):
        self.act = out.detach()
def main(net, images):
    cam = Cam(net, net.layer4)
    for image in images:
        print(cam(image[None].cuda()))
# ---
import torch
def serve(model, queue):
    while True:
        x = queue.get()
        acts = {}
        model.encoder.register_forward_hook(lambda m, i, o: acts.update(e=o))  # <-
        model(x.cuda())
# ---
import torch
class Explain:
    def __init__(self, net):
        self.net = net
    def keep(self, module, args, out):
        self.out = out.detach()
    def explain(self, x):
        self.net.last.register_forward_hook(self.keep)  # <-
        return self.net(x)
def main(net, images):
    explain = Explain(net)
    for image in images:
        explain.explain(image)
