import torch


class Trainer:
    def __init__(self, net, opt, second_order=True):
        self.net, self.opt = net, opt
        self.second_order = True

    def step(self, batch):
        loss = self.net(batch).mean()
        loss.backward(create_graph=self.second_order)  # <-
        norm = torch.stack([p.grad.norm() for p in self.net.parameters()]).sum()
        (0.01 * norm).backward()
        self.opt.step()
# ---
import torch

kwargs = {'create_graph': True}


def inner(model, x, y, lr):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward(**kwargs)  # <-
    return [p - lr * p.grad for p in model.parameters()]
# ---
import torch


def gradient_penalty(critic, real, fake):
    a = torch.rand(real.size(0), 1, device=real.device)
    mix = (a * real + (1 - a) * fake).requires_grad_(True)
    score = critic(mix)
    score.sum().backward(create_graph=True)  # <-
    g = mix.grad
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


def train(critic, gen, loader, opt):
    for real in loader:
        fake = gen(torch.randn(real.size(0), 64)).detach()
        opt.zero_grad()
        loss = critic(fake).mean() - critic(real).mean() + 10 * gradient_penalty(critic, real, fake)
        loss.backward()
        opt.step()
