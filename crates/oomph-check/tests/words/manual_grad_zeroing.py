import torch
def forget(weights):
    for w in weights:
        w.grad.zero_()  # <-
def main(net, loader):
    every = list(net.parameters())
    for x, y in loader:
        forget(every)
        (net(x) - y).pow(2).mean().backward()
