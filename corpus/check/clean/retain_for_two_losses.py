import torch
import torch.nn.functional as F


def step(trunk, a, b, opt_a, opt_b, x, ya, yb):
    f = trunk(x.cuda())
    la = F.cross_entropy(a(f), ya.cuda())
    lb = F.mse_loss(b(f), yb.cuda())
    opt_a.zero_grad()
    opt_b.zero_grad()
    la.backward(retain_graph=True)
    lb.backward()
    opt_a.step()
    opt_b.step()
