import torch


class Probe:
    def __init__(self, net, layers):
        self.acts = {name: [] for name in layers}
        self.net = net
        modules = dict(net.named_modules())
        for name in layers:
            modules[name].register_forward_hook(self._keep(name))

    def _keep(self, name):
        def hook(module, args, output):
            self.acts[name].append(output)
        return hook


def similarity(net, layers, loader):
    probe = Probe(net, layers)
    for x in loader:
        with torch.no_grad():
            net(x.cuda())
    return {n: torch.cat(a).mean() for n, a in probe.acts.items()}
