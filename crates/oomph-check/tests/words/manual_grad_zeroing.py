import torch
def forget(weights):
    for w in weights:
        w.grad.zero_()  # <-
def main(net, loader):
    every = list(net.parameters())
    for x, y in loader:
        forget(every)
        (net(x) - y).pow(2).mean().backward()
# ---
import torch

def train(body, head, loader):
    params = list(body.parameters()) + list(head.parameters())
    opt = torch.optim.SGD(params, lr=0.1)
    for x, y in loader:
        loss = (head(body(x.cuda())) - y.cuda()).pow(2).mean()
        loss.backward()
        opt.step()
        for p in params:
            if p.grad is not None:
                p.grad.data.zero_()  # <-
# ---
import torch

class Both:
    def __init__(self, left, right):
        self.params = [*left.parameters(), *right.parameters()]

    def clear(self):
        for p in self.params:
            p.grad.zero_()  # <-
