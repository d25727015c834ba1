import torch
from torch.cuda.amp import GradScaler, autocast


def train(model, loader, opt, crit):
    scaler = GradScaler()
    for x, y in loader:
        opt.zero_grad()
        with autocast():
            loss = crit(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
