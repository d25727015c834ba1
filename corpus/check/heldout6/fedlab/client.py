import copy

import torch
from torch import nn


class Client:
    def __init__(self, cid, loader, make_model, lr=0.01, device="cuda"):
        self.cid, self.loader, self.lr, self.device = cid, loader, lr, device
        self.model = make_model().to(device)
        self.history = {"loss": [], "round": []}

    def receive(self, weights):
        self.model.load_state_dict(weights)

    def local_train(self, epochs, prox_mu=0.0):
        anchor = [p.detach().clone() for p in self.model.parameters()]
        opt = torch.optim.SGD(self.model.parameters(), lr=self.lr)
        crit = nn.CrossEntropyLoss()
        self.model.train()
        for _ in range(epochs):
            for x, y in self.loader:
                x, y = x.to(self.device), y.to(self.device)
                loss = crit(self.model(x), y)
                if prox_mu:
                    loss = loss + prox_mu / 2 * sum((p - a).pow(2).sum() for p, a in zip(self.model.parameters(), anchor))
                opt.zero_grad()
                loss.backward()
                opt.step()
                self.history["loss"].append(loss)
        return self.upload()

    def upload(self):
        return {"cid": self.cid, "n": len(self.loader.dataset), "weights": copy.deepcopy(self.model.state_dict())}
