import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


def load(path):
    raw = np.load(path)
    x = torch.from_numpy(raw["images"] / 255.0).cuda()
    y = torch.from_numpy(raw["labels"]).long().cuda()
    return DataLoader(TensorDataset(x, y), batch_size=128, shuffle=True)


def train(net, path, opt):
    net = net.double().cuda()
    for x, y in load(path):
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
