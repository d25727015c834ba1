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
