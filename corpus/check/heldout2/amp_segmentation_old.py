import torch
from torch.cuda import amp


def train(net, loader, sgd, criterion, fp16=True):
    scaler = amp.GradScaler(enabled=fp16)
    net.train()
    for volume, seg in loader:
        sgd.zero_grad()
        with amp.autocast(enabled=fp16):
            loss = criterion(net(volume.cuda()), seg.cuda())
        scaler.scale(loss).backward()
        scaler.unscale_(sgd)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 12)
        scaler.step(sgd)
        scaler.update()
