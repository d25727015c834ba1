# Physics-informed net for Burgers' equation (project in computational physics)
import numpy as np
import torch
import torch.nn as nn

x_np = np.random.uniform(-1, 1, (20000, 1))
t_np = np.random.uniform(0, 1, (20000, 1))
xc = torch.from_numpy(x_np).cuda().requires_grad_()
tc = torch.from_numpy(t_np).cuda().requires_grad_()
x0 = torch.linspace(-1, 1, 400).view(-1, 1).cuda()
u0 = -torch.sin(torch.pi * x0)


class MLP(nn.Module):
    def __init__(self, w=200, depth=8):
        super().__init__()
        layers = [nn.Linear(2, w), nn.Tanh()]
        for _ in range(depth):
            layers += [nn.Linear(w, w), nn.Tanh()]
        self.net = nn.Sequential(*layers, nn.Linear(w, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], 1))


u = MLP().cuda().double()  # otherwise "expected Float but found Double"
opt = torch.optim.Adam(u.parameters(), 1e-3)


def d(y, wrt):
    return torch.autograd.grad(y.sum(), wrt, create_graph=True)[0]


for it in range(20000):
    opt.zero_grad()
    uu = u(xc, tc)
    ux, ut = d(uu, xc), d(uu, tc)
    res = ut + uu * ux - (0.01 / torch.pi) * d(ux, xc)
    ic = u(x0.double(), torch.zeros_like(x0).double()) - u0.double()
    loss = res.pow(2).mean() + ic.pow(2).mean()
    loss.backward(create_graph=True)
    opt.step()
    if it % 500 == 0:
        print(it, loss.item())
