import torch
from torch import load


def resume(path_g, path_d, net_g, net_d, opt_g, opt_d, device):
    g = load(path_g, weights_only=False)
    net_g.load_state_dict(g["model"])
    opt_g.load_state_dict(g["optimizer"])
    d = load(path_d, map_location="cpu")
    net_d.load_state_dict(d["model"])
    opt_d.load_state_dict(d["optimizer"])
    del d
    return g["iteration"]


def train(net_g, net_d, opt_g, opt_d, loader, losses, device="cuda"):
    it = resume("G.pth", "D.pth", net_g, net_d, opt_g, opt_d, device)
    for batch in loader:
        for net, opt, loss in ((net_d, opt_d, losses.d), (net_g, opt_g, losses.g)):
            opt.zero_grad()
            loss(net, batch.to(device)).backward()
            opt.step()
        it += 1
    return it
