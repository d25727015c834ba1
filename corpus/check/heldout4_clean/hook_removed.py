"""Feature maps of one layer, hook taken away again."""
import contextlib

import torch


@contextlib.contextmanager
def capture(layer):
    slot = {}

    def hook(mod, args, out):
        slot["out"] = out.detach()

    handle = layer.register_forward_hook(hook)
    try:
        yield slot
    finally:
        handle.remove()


@torch.inference_mode()
def layer_statistics(net, layer, loader):
    net.eval()
    mean = sq = count = 0.0
    with capture(layer) as slot:
        for x, _ in loader:
            net(x.cuda())
            f = slot["out"].float()
            mean += f.mean().item() * len(x)
            sq += f.pow(2).mean().item() * len(x)
            count += len(x)
    mean, sq = mean / count, sq / count
    return mean, max(sq - mean * mean, 0.0) ** 0.5


def compare(net, names, loader):
    net = net.cuda()
    mods = dict(net.named_modules())
    return {n: layer_statistics(net, mods[n], loader) for n in names}
