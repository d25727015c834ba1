import torch


def train(enc, dec, loader, opt):
    for x in loader:
        x = x.cuda()
        z = enc(x)
        rec = dec(z)
        loss = (rec - x).abs().mean() + 0.01 * z.pow(2).mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
