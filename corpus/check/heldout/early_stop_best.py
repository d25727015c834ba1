from copy import deepcopy

import torch


class EarlyStopping:
    def __init__(self, patience=10):
        self.patience, self.bad = patience, 0
        self.best, self.best_state = float("inf"), None

    def __call__(self, loss, model):
        if loss < self.best:
            self.best, self.bad = loss, 0
            self.best_state = deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad > self.patience


def fit(model, train, evaluate, loader, opt, epochs=200):
    model.to("cuda")
    stop = EarlyStopping()
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            opt.zero_grad()
            torch.nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
            opt.step()
        if stop(evaluate(model), model):
            break
    model.load_state_dict(stop.best_state)
