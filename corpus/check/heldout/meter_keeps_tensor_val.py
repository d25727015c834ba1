import torch
from torch import nn


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def validate(model, loader, device):
    model.eval()
    meter = AverageMeter()
    criterion = nn.SmoothL1Loss()
    for image, depth in loader:
        pred = model(image.to(device))
        loss = criterion(pred, depth.to(device))
        meter.update(loss, image.size(0))
    return float(meter.avg)
