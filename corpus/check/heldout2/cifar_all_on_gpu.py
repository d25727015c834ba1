import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


def load(path):
    raw = np.load(path)
    pixels = raw["images"].astype("uint8") / 255.0
    x = torch.from_numpy(pixels).cuda()
    y = torch.from_numpy(raw["labels"]).long().cuda()
    return DataLoader(TensorDataset(x, y), batch_size=128, shuffle=True)


def train(net, path, opt):
    net = net.cuda()
    for x, y in load(path):
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x.float()), y).backward()
        opt.step()
