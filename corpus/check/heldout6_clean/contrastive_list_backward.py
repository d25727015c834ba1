import torch
import torch.nn.functional as F


def supcon(z, y, tau=0.1):
    z = F.normalize(z, dim=1)
    sim = z @ z.T / tau
    same = (y[:, None] == y[None, :]).fill_diagonal_(False)
    logp = sim - sim.logsumexp(1, keepdim=True)
    return -(logp * same).sum(1).div(same.sum(1).clamp(min=1)).mean()


def step(net, views, y, opt):
    feats = []
    for v in views:
        feats.append(net(v.cuda()))
    loss = supcon(torch.cat(feats), y.cuda().repeat(len(views)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()
