import torch
from tqdm import tqdm


def train(model, loader, opt, crit, epoch, epochs):
    pbar = tqdm(loader)
    for imgs, targets in pbar:
        loss = crit(model(imgs.cuda()), targets.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        mem = "%.3gG" % (torch.cuda.memory_cached() / 1e9 if torch.cuda.is_available() else 0)
        pbar.set_description("%d/%d %s %.3f" % (epoch, epochs - 1, mem, loss.item()))
