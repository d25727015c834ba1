import torch
import torch.nn as nn

torch.autograd.set_detect_anomaly(True)


def train(model, loader, opt):
    crit = nn.SmoothL1Loss()
    for x, y in loader:
        opt.zero_grad()
        crit(model(x.cuda()), y.cuda()).backward()
        opt.step()
