import gc

import torch


def train(model, loader, opt, every=1000):
    gc.disable()
    for step, batch in enumerate(loader):
        loss = model(batch.cuda()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % every == 0:
            gc.collect()
