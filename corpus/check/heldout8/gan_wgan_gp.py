import torch
import torch.autograd as autograd


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1, 1, 1, device=real.device)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    grad = autograd.grad(score, mix, torch.ones_like(score), create_graph=True)[0]
    return ((grad.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


def train(G, critic, loader, z_dim=128, n_critic=5, epochs=50, device="cuda"):
    og = torch.optim.Adam(G.parameters(), 1e-4, (0.0, 0.9))
    oc = torch.optim.Adam(critic.parameters(), 1e-4, (0.0, 0.9))
    w_total = 0.0
    for epoch in range(epochs):
        for step, (real, _) in enumerate(loader):
            real = real.to(device)
            with torch.no_grad():
                fake = G(torch.randn(real.size(0), z_dim, device=device))
            w = critic(real).mean() - critic(fake).mean()
            loss_c = -w + 10 * gradient_penalty(critic, real, fake)
            oc.zero_grad()
            loss_c.backward(retain_graph=True)
            oc.step()
            w_total += w
            if step % n_critic == 0:
                og.zero_grad()
                lg = -critic(G(torch.randn(real.size(0), z_dim, device=device))).mean()
                lg.backward()
                og.step()
        print(epoch, "mean wasserstein", (w_total / ((epoch + 1) * len(loader))).item())
