import torch
import torch.nn as nn

from burgers import sample_ic, sample_points


class MLP(nn.Module):
    def __init__(self, w=256, depth=6):
        super().__init__()
        dims = [2] + [w] * depth + [1]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))

    def forward(self, xt):
        for l in self.layers[:-1]:
            xt = torch.tanh(l(xt))
        return self.layers[-1](xt)


net = MLP().cuda()
opt = torch.optim.Adam(net.parameters(), 1e-3)
nu = 0.01 / torch.pi

for it in range(30_000):
    xt = sample_points(20_000).cuda().requires_grad_(True)
    u = net(xt)
    # du/dx, du/dt through backward, the way it is in the old notebook
    u.sum().backward(create_graph=True)
    du = xt.grad
    uxx = torch.autograd.grad(du[:, 0].sum(), xt, create_graph=True)[0][:, 0]
    res = du[:, 1] + u[:, 0] * du[:, 0] - nu * uxx
    x0, u0 = sample_ic(2000)
    loss = res.pow(2).mean() + (net(x0.cuda()) - u0.cuda()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 500 == 0:
        print(it, loss.item())
