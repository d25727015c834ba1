import gc

import torch


def train(model, loader, opt):
    for batch in loader:
        loss = model(batch.cuda()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        gc.collect()
