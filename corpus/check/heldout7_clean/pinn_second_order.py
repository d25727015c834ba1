import torch
import torch.nn as nn


def mlp(w=128, depth=5):
    layers = [nn.Linear(2, w), nn.Tanh()]
    for _ in range(depth):
        layers += [nn.Linear(w, w), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(w, 1))


def derivative(u, x):
    """First derivative that can be differentiated again; .grad of the parameters is not touched."""
    return torch.autograd.grad(u.sum(), x, create_graph=True)[0]


def residual(net, xt, nu):
    u = net(xt)
    du = derivative(u, xt)
    u_x, u_t = du[:, :1], du[:, 1:]
    u_xx = derivative(u_x, xt)[:, :1]
    return u_t + u * u_x - nu * u_xx


def train(steps=10_000, nu=0.003):
    net = mlp().cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for it in range(steps):
        xt = torch.rand(8192, 2, device="cuda", requires_grad=True)
        loss = residual(net, xt, nu).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 500 == 0:
            print(it, loss.item())
