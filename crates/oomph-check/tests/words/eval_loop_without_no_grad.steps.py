import torch

def count(net, batch):
    x, y = batch
    guess = net(x.cuda()).argmax(1)
    return (guess.cpu() == y).sum().item()

def accuracy(net, val_loader):
    net.eval()
    right = 0
    for batch in val_loader:  # <-
        right += count(net, batch)
    return right / len(val_loader.dataset)
# ---
import torch

def accuracy(net, val_loader):
    net.eval()
    right = 0
    batches = iter(val_loader)
    while True:  # <-
        try:
            x, y = next(batches)
        except StopIteration:
            break
        right += (net(x.cuda()).argmax(1).cpu() == y).sum().item()
    return right / len(val_loader.dataset)
# ---
import torch

class Scorer:
    def __init__(self, net):
        self.net = net.cuda()

    def accuracy(self, val_loader):
        self.net.eval()
        right = 0
        for x, y in val_loader:  # <-
            right += (getattr(self, "net")(x.cuda()).argmax(1).cpu() == y).sum().item()
        return right / len(val_loader.dataset)
