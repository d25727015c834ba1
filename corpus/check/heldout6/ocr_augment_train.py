import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


def synthetic(n, h=48, w=640):
    base = np.random.rand(n, 1, h, w)
    labels = np.random.randint(0, 96, (n, 40))
    x = torch.from_numpy(base)
    y = torch.from_numpy(labels)
    return TensorDataset(x.cuda(), y.cuda())


def train(net, n=60_000, epochs=3, accumulate=8):
    loader = DataLoader(synthetic(n), batch_size=16, shuffle=True)
    net = net.cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    opt.zero_grad()
    for _ in range(epochs):
        for k, (x, y) in enumerate(loader, start=1):
            loss = torch.nn.functional.cross_entropy(net(x.float()).flatten(0, 1), y.flatten())
            (loss / accumulate).backward()
            if k % accumulate == 0:
                opt.step()
                opt.zero_grad()
