import torch
from torch.cuda.amp import GradScaler, autocast


def train(net, loader, opt, crit, epochs):
    scaler = GradScaler()
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad(set_to_none=True)
            with autocast():
                loss = crit(net(x.cuda()), y.cuda())
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
