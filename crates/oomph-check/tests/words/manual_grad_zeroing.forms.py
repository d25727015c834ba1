import torch


def train(model, loader, opt, crit):
    for x, y in loader:
        for group in opt.param_groups:
            for p in group['params']:
                if p.grad is not None:
                    p.grad.zero_()  # <-
        crit(model(x), y).backward()
        opt.step()
# ---
import torch


def reset(net):
    for w in net.parameters():
        w.grad = torch.zeros_like(w)  # <-


def train(net, loader, opt):
    for x in loader:
        reset(net)
        net(x).sum().backward()
        opt.step()
# ---
import torch


def zero(model):
    [p.grad.data.zero_() for p in model.parameters() if p.grad is not None]  # <-
# ---
import torch


class Descent:
    def __init__(self, net, lr):
        self.net, self.lr = net, lr
        self.params = list(net.parameters())

    def run(self, loader):
        for x in loader:
            self.net(x.cuda()).sum().backward()
            with torch.no_grad():
                for p in self.params:
                    p -= self.lr * p.grad
                    p.grad.zero_()  # <-
