"""Second-order refinement of a neural SDF: curvature of the loss is logged each step."""
import torch
from torch import nn


class SDF(nn.Module):
    def __init__(self, width=512, depth=8):
        super().__init__()
        dims = [3] + [width] * depth + [1]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))

    def forward(self, p):
        for lin in self.layers[:-1]:
            p = torch.nn.functional.softplus(lin(p), beta=100)
        return self.layers[-1](p)


def hutchinson(params, samples=4):
    tr = 0.0
    for _ in range(samples):
        zs = [torch.randint_like(p, 2) * 2 - 1 for p in params]
        hv = torch.autograd.grad([p.grad for p in params], params, zs, retain_graph=True)
        tr += sum((h * z).sum() for h, z in zip(hv, zs)).item()
    return tr / samples


def fit(points, steps=400):
    net = SDF().cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-4)
    params = list(net.parameters())
    curve = []
    for step in range(steps):
        idx = torch.randint(len(points), (16384,), device=points.device)
        opt.zero_grad()
        loss = net(points[idx]).abs().mean()
        loss.backward(create_graph=True)
        curve.append((loss.item(), hutchinson(params)))
        opt.step()
    return curve


def main(objects):
    # a fresh network for every one of the 900 objects of the set
    for name, points in objects:
        curve = fit(points.cuda())
        print(name, curve[-1])
