import torch
from torch import nn


def finetune(backbone, head, loader, opt):
    for p in backbone.parameters():
        p.requires_grad_(False)
    crit = nn.CrossEntropyLoss()
    for x, y in loader:
        x = x.cuda().requires_grad_()
        loss = crit(head(backbone(x)), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
