class Meter:
    def __init__(self):
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def dev_loss(model, criterion, dev_loader):
    model.eval()
    meter = Meter()
    for mel, target in dev_loader:
        pred = model(mel.cuda())
        meter.update(criterion(pred, target.cuda()), mel.size(0))
    return float(meter.avg)
