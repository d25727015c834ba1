from itertools import islice

import torch


@torch.no_grad()
def calibrate(model, loader, observer):
    """A few batches are enough for the ranges."""
    sample = [x for x, _ in islice(loader, 8)]
    model.eval()
    for x in sample:
        observer(model(x.cuda()))
    return observer
