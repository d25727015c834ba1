import torch
from torch.amp import GradScaler, autocast


def train(model, loader, opt, crit):
    scaler = GradScaler("cuda")
    for x, y in loader:
        opt.zero_grad()
        with autocast("cuda", dtype=torch.float16):
            loss = crit(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
