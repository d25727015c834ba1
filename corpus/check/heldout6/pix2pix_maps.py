import torch
from torch import nn

bce = nn.BCEWithLogitsLoss()
l1 = nn.L1Loss()


def epoch(gen, disc, loader, opt_g, opt_d, g_scaler, d_scaler):
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        with torch.cuda.amp.autocast():
            y_fake = gen(x)
            d_real = disc(x, y)
            d_fake = disc(x, y_fake)
            d_loss = (bce(d_real, torch.ones_like(d_real)) + bce(d_fake, torch.zeros_like(d_fake))) / 2
        disc.zero_grad()
        d_scaler.scale(d_loss).backward(retain_graph=True)
        d_scaler.step(opt_d)
        d_scaler.update()
        with torch.amp.autocast("cuda"):
            d_fake = disc(x, y_fake)
            g_loss = bce(d_fake, torch.ones_like(d_fake)) + 100 * l1(y_fake, y)
        opt_g.zero_grad()
        g_scaler.scale(g_loss).backward()
        g_scaler.step(opt_g)
        g_scaler.update()
