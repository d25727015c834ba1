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
