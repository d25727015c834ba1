"""EMA of the weights; the copy on the GPU is wanted and made once."""
import copy

import torch
import torch.nn.functional as F


class EMA:
    def __init__(self, model, decay=0.999):
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.decay)
        for s, b in zip(self.shadow.buffers(), model.buffers()):
            s.copy_(b)


@torch.inference_mode()
def accuracy(model, loader):
    hits = total = 0
    for x, y in loader:
        hits += (model(x.cuda()).argmax(1).cpu() == y).sum().item()
        total += len(y)
    return hits / total


def fit(model, train, val, epochs):
    model = model.cuda()
    ema = EMA(model)
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, nesterov=True)
    for e in range(epochs):
        model.train()
        for x, y in train:
            loss = F.cross_entropy(model(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update(model)
        print(e, accuracy(ema.shadow, val))
