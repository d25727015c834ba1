import torch
from torch.amp import GradScaler


def train(model, loader, opt, crit):
    scaler = GradScaler("cuda")
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = crit(model(x.cuda()), y.cuda())
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
