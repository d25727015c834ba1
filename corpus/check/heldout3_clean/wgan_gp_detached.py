"""WGAN-GP: the critic sees detached samples, the penalty needs create_graph in autograd.grad."""
import torch


def penalty(critic, real, fake):
    a = torch.rand(real.size(0), 1, 1, 1, device=real.device)
    mix = (a * real + (1 - a) * fake).requires_grad_(True)
    score = critic(mix)
    (grad,) = torch.autograd.grad(score.sum(), mix, create_graph=True)
    return ((grad.flatten(1).norm(dim=1) - 1) ** 2).mean()


def train(gen, critic, loader, epochs, nz=128, n_critic=5, lam=10.0):
    gen.cuda(), critic.cuda()
    g_opt = torch.optim.Adam(gen.parameters(), 1e-4, (0.0, 0.9))
    c_opt = torch.optim.Adam(critic.parameters(), 1e-4, (0.0, 0.9))
    for epoch in range(epochs):
        for i, (real, _) in enumerate(loader):
            real = real.cuda()
            z = torch.randn(real.size(0), nz, device="cuda")
            with torch.no_grad():
                fake = gen(z)
            c_loss = critic(fake).mean() - critic(real).mean() + lam * penalty(critic, real, fake)
            c_opt.zero_grad()
            c_loss.backward()
            c_opt.step()
            if i % n_critic == 0:
                z = torch.randn(real.size(0), nz, device="cuda")
                g_loss = -critic(gen(z)).mean()
                g_opt.zero_grad()
                g_loss.backward()
                g_opt.step()
        print(epoch, c_loss.item(), g_loss.item())
