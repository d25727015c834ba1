import torch
from torch.amp import GradScaler


def train_step(model, batch, opt):
    scaler = GradScaler("cuda")
    opt.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(**batch).loss
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    return loss.item()


def train(model, loader, opt):
    for batch in loader:
        print(train_step(model, {k: v.cuda() for k, v in batch.items()}, opt))
