import torch
import torch.nn.functional as F
def judge_step(G, D, real, opt_d):
    fake = G(torch.randn(len(real), 64, device=real.device))
    loss = F.softplus(D(fake)).mean() + F.softplus(-D(real)).mean()
    opt_d.zero_grad()
    loss.backward()  # <-
    opt_d.step()
def make_step(G, D, n, opt_g):
    loss = F.softplus(-D(G(torch.randn(n, 64, device="cuda")))).mean()
    opt_g.zero_grad()
    loss.backward()
    opt_g.step()
def train(G, D, loader):
    first = torch.optim.Adam(G.parameters(), 2e-3)
    second = torch.optim.Adam(D.parameters(), 2e-3)
    for real in loader:
        judge_step(G, D, real.cuda(), second)
        make_step(G, D, len(real), first)
# ---
import torch
mse = torch.nn.MSELoss()
def judged(net, real, fake):
    a, b = net(real), net(fake)
    return mse(a, torch.ones_like(a)) + mse(b, torch.zeros_like(b))
def train(G, D, loader):
    og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
    for a, b in loader:
        og.zero_grad()
        p = D(G(a))
        (mse(p, torch.ones_like(p)) + (G(a) - b).abs().mean()).backward()
        og.step()
        od.zero_grad()
        loss = judged(D, b, G(a))
        loss.backward()  # <-
        od.step()
