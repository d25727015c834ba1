import torch


class Adversarial:
    def __init__(self, feat, cls, dom, opt):
        self.feat, self.cls, self.dom, self.opt = feat, cls, dom, opt
        self.ce = torch.nn.CrossEntropyLoss()

    def step(self, x, y, d):
        f = self.feat(x)
        self.opt.zero_grad()
        class_loss = self.ce(self.cls(f), y)
        class_loss.backward(retain_graph=True)
        domain_loss = self.ce(self.dom(f), d)
        domain_loss.backward(retain_graph=True)
        self.opt.step()
        return class_loss.item(), domain_loss.item()
