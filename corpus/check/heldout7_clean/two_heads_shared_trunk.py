import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoHeads(nn.Module):
    def __init__(self, d=1024):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(512, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())
        self.seg, self.cls = nn.Linear(d, 256), nn.Linear(d, 10)

    def forward(self, x):
        h = self.trunk(x)
        return self.seg(h), self.cls(h)


def grad_norm(params):
    return torch.sqrt(sum(p.grad.pow(2).sum() for p in params if p.grad is not None)).item()


def step(net, opt, x, t1, t2):
    """Two backward passes over one trunk: the first has to keep the graph, the second lets it go."""
    a, b = net(x)
    loss1, loss2 = F.mse_loss(a, t1), F.cross_entropy(b, t2)
    opt.zero_grad()
    loss1.backward(retain_graph=True)
    n1 = grad_norm(net.trunk.parameters())
    loss2.backward()
    n2 = grad_norm(net.trunk.parameters())
    opt.step()
    return loss1.item(), loss2.item(), n1, n2


def fit(net, loader, lr=1e-3):
    opt = torch.optim.Adam(net.parameters(), lr)
    for x, t1, t2 in loader:
        print(*step(net, opt, x.cuda(), t1.cuda(), t2.cuda()))
