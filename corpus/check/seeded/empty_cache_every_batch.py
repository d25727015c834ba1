import torch
from torch import nn


def train_epoch(net, loader, optimizer):
    crit = nn.L1Loss()
    for lr_img, hr_img in loader:
        sr = net(lr_img.cuda())
        loss = crit(sr, hr_img.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.empty_cache()
