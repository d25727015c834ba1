class Meter:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def add(self, value, n=1):
        self.total = self.total + value * n
        self.n += n


def epoch(net, crit, loader, opt, device="cuda"):
    meter = Meter()
    net.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
        meter.add(loss.item(), len(x))
    return meter.total / meter.n
