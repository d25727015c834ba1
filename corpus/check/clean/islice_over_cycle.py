from itertools import cycle, islice

import torch
from torch.utils.data import DataLoader


def warm_up(model, dataset):
    loader = DataLoader(dataset, batch_size=2)
    with torch.no_grad():
        for x, _ in islice(cycle(loader), 10):
            model(x.cuda())
