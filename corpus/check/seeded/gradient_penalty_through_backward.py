import torch


def critic_step(critic, real, fake, opt_c, lam=10.0):
    opt_c.zero_grad(set_to_none=True)
    eps = torch.rand(real.size(0), 1, 1, 1, device=real.device)
    mixed = (eps * real + (1 - eps) * fake.detach()).requires_grad_(True)
    score = critic(mixed)
    score.backward(torch.ones_like(score), retain_graph=True, create_graph=True)
    gp = ((mixed.grad.flatten(1).norm(2, dim=1) - 1) ** 2).mean()
    loss = critic(fake.detach()).mean() - critic(real).mean() + lam * gp
    loss.backward()
    opt_c.step()
    return loss.item()
