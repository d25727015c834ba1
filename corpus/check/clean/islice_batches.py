from itertools import islice

import torch
from torch.utils.data import DataLoader


def calibrate(model, dataset):
    loader = DataLoader(dataset, batch_size=8, shuffle=True)
    few = list(islice(loader, 4))
    with torch.inference_mode():
        for x, _ in few:
            model(x.cuda())
    first = next(iter(loader))
    return first[0].shape
