from copy import deepcopy

import torch


class EarlyStop:
    def __init__(self, patience):
        self.patience, self.bad, self.best = patience, 0, float("inf")
        self.weights = None

    def __call__(self, loss, model):
        if loss < self.best:
            self.best, self.bad = loss, 0
            self.weights = deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


def fit(model, epoch_fn, val_fn):
    model = model.cuda()
    stop = EarlyStop(5)
    while True:
        epoch_fn(model)
        if stop(val_fn(model), model):
            break
    model.load_state_dict(stop.weights)
    torch.save(stop.weights, "best.pt")
