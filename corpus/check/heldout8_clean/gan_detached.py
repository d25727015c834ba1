import torch
import torch.nn.functional as F


def d_step(G, D, real, opt_d):
    fake = G(torch.randn(len(real), 128, device=real.device)).detach()
    loss = F.softplus(D(fake)).mean() + F.softplus(-D(real)).mean()
    opt_d.zero_grad()
    loss.backward()
    opt_d.step()
    return loss.item()
