import torch
from torch.utils.data import DataLoader


def train(net, ds, opt):
    dl = DataLoader(ds, batch_size=256, num_workers=8, shuffle=True)
    for x, y in dl:
        x = x.cuda(non_blocking=True)
        y = y.cuda(non_blocking=True)
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
