import torch
from torch import nn


def train(net, loader, opt):
    crit = nn.L1Loss()
    norms = []
    for lr, hr in loader:
        scaler = torch.amp.GradScaler("cuda")
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = crit(net(lr.cuda()), hr.cuda())
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        norms.append(nn.utils.clip_grad_norm_(net.parameters(), 1.0))
        scaler.step(opt)
        scaler.update()
    return norms
