import torch
from torch import nn
from torch.utils.data import DataLoader


def epoch(model, loader, opt, train=True):
    crit = nn.CrossEntropyLoss()
    right = n = 0
    for x, y in loader:
        scaler = torch.amp.GradScaler("cuda")
        x, y = x.cuda(), y.cuda()
        with torch.amp.autocast("cuda", dtype=torch.float16), torch.set_grad_enabled(train):
            out = model(x)
            loss = crit(out, y)
        if train:
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
        right += (out.argmax(1) == y).sum().item()
        n += len(y)
    return right / n


def main(model, tr, va, epochs=25):
    opt = torch.optim.AdamW(model.cuda().parameters(), 1e-3)
    trl, val = DataLoader(tr, 256, shuffle=True, num_workers=4), DataLoader(va, 512)
    for e in range(epochs):
        print(e, epoch(model, trl, opt), epoch(model, val, opt, train=False))
