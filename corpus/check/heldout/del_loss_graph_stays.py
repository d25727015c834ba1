import torch


class History:
    def __init__(self):
        self.last = None

    def note(self, value):
        self.last = value


def train(model, loader, opt, crit, history):
    for x, y in loader:
        opt.zero_grad()
        logits = model(x.cuda())
        loss = crit(logits, y.cuda())
        loss.backward()
        opt.step()
        outputs = logits
        history.note(loss.item())
        del logits
        top1 = (outputs.argmax(1).cpu() == y).float().mean().item()
        print(history.last, top1)
