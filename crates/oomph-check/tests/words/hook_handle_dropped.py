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
