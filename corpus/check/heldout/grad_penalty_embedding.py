import torch


class Regularised:
    """Penalises the gradient of the embedding table."""

    def __init__(self, model, opt, weight=0.1):
        self.model, self.opt, self.weight = model, opt, weight

    def step(self, ids, labels):
        self.opt.zero_grad()
        out = self.model(ids.cuda(), labels=labels.cuda())
        out.loss.backward(retain_graph=True, create_graph=True)
        penalty = self.model.get_input_embeddings().weight.grad.norm()
        (self.weight * penalty).backward()
        self.opt.step()
        return out.loss.item(), penalty.item()


def train(reg, loader):
    for ids, labels in loader:
        print(reg.step(ids, labels))
