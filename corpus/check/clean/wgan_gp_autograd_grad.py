import torch
import torch.autograd as autograd


def gradient_penalty(D, real, fake):
    a = torch.rand(real.size(0), 1, 1, 1, device=real.device)
    mix = (a * real + (1 - a) * fake).requires_grad_(True)
    d = D(mix)
    g = autograd.grad(d, mix, torch.ones_like(d), create_graph=True, retain_graph=True, only_inputs=True)[0]
    return ((g.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


def train(G, D, og, od, loader, n_critic=5, lam=10.0):
    for i, (real, _) in enumerate(loader):
        real = real.cuda()
        z = torch.randn(len(real), 128, device="cuda")
        od.zero_grad()
        fake = G(z).detach()
        d_loss = D(fake).mean() - D(real).mean() + lam * gradient_penalty(D, real, fake)
        d_loss.backward()
        od.step()
        if i % n_critic == 0:
            og.zero_grad()
            g_loss = -D(G(z)).mean()
            g_loss.backward()
            og.step()
