import sys

import torch
from torch.utils.data import DataLoader

sys.path.insert(0, "lib")
from core.engine import predict, validate


def main(dataset, criterion):
    model = torch.nn.Linear(8, 2).cuda()
    loader = DataLoader(dataset)
    with torch.no_grad():
        print(validate(model, loader, criterion))
    print(predict(model, loader))
