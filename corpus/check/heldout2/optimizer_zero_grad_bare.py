import torch
from torch import nn


class Regressor:
    def __init__(self, n_in):
        self.net = nn.Sequential(nn.Linear(n_in, 64), nn.Tanh(), nn.Linear(64, 1)).cuda()
        self.sgd = torch.optim.SGD(self.net.parameters(), lr=1e-2)

    def fit(self, loader, epochs=100):
        for e in range(epochs):
            last = None
            for x, y in loader:
                self.sgd.zero_grad
                last = nn.functional.mse_loss(self.net(x.cuda()), y.cuda())
                last.backward()
                self.sgd.step()
            if e % 10 == 0:
                print(e, last.item())
        torch.cuda.empty_cache
