import torch
from torch import nn


def main(net, loader):
    if torch.cuda.device_count() > 1:
        net = nn.DataParallel(net)
    net = net.cuda()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
        opt.step()
