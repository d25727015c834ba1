import torch


def penalty(critic, real, fake):
    a = torch.rand(len(real), 1, 1, 1, device=real.device)
    mix = (a * real + (1 - a) * fake).requires_grad_()
    (g,) = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True)
    return (g.flatten(1).norm(dim=1) - 1).square().mean()


def critic_step(critic, gen, opt, real, z, weight=10.0):
    fake = gen(z).detach()
    loss = critic(fake).mean() - critic(real).mean() + weight * penalty(critic, real, fake)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()
