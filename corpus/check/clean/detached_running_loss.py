import torch


class Meter:
    def __init__(self):
        self.sum, self.n, self.values = 0.0, 0, []

    def update(self, v, k=1):
        self.sum += float(v) * k
        self.n += k


def train(model, loader, crit, opt):
    meter, running, recent = Meter(), torch.zeros((), device="cuda"), []
    for x, y in loader:
        opt.zero_grad()
        loss = crit(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
        meter.update(loss, len(x))
        running += loss.detach()
        recent.append(loss.item())
    return meter.sum / meter.n, running.item(), recent
