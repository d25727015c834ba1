import torch
import torch.nn as nn


def finetune(net, loader, opt, crit):
    net.train()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.eval()
    for x, y in loader:
        loss = crit(net(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
