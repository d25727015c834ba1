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
