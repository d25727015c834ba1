import copy

import torch
from torch import nn


class Client:
    def __init__(self, cid, train_loader, test_loader, lr=0.05):
        self.cid, self.train_loader, self.test_loader, self.lr = cid, train_loader, test_loader, lr
        self.model = None

    def receive(self, state, template):
        self.model = copy.copy(template)
        self.model.load_state_dict(state)
        self.model.cuda()

    def local_update(self, epochs):
        opt = torch.optim.SGD(self.model.parameters(), lr=self.lr)
        for _ in range(epochs):
            for x, y in self.train_loader:
                opt.zero_grad()
                nn.functional.cross_entropy(self.model(x.cuda()), y.cuda()).backward()
                opt.step()

    def test(self):
        right, n = 0, 0
        for x, y in self.test_loader:
            logits = self.model(x.cuda())
            right += int((logits.argmax(dim=1) == y.cuda()).sum())
            n += y.numel()
        return right / n
