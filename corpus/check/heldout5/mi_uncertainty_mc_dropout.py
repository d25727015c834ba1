import torch
import torch.nn as nn


def enable_dropout(m):
    for mod in m.modules():
        if isinstance(mod, (nn.Dropout, nn.Dropout2d, nn.Dropout3d)):
            mod.train()


def mc_predict(net, loader, T=30):
    """Mean and predictive entropy of T stochastic passes."""
    net.eval()
    enable_dropout(net)
    means, entropies = [], []
    for vol in loader:
        vol = vol.cuda()
        runs = torch.stack([net(vol).softmax(1) for _ in range(T)])
        mu = runs.mean(0)
        ent = -(mu * mu.clamp_min(1e-8).log()).sum(1)
        means.append(mu.argmax(1).cpu())
        entropies.append(ent.mean().item())
    return means, torch.tensor(entropies)


def deep_ensemble(make_net, paths, loader):
    votes = []
    for p in paths:
        net = make_net()
        net.load_state_dict(torch.load(p, map_location="cpu"))
        net.cuda()
        m, e = mc_predict(net, loader)
        votes.append(m)
        print(p, e.mean().item())
    return votes
