import copy

import torch


def fit(model, train_dl, val_dl, opt, crit, evaluate, epochs=100):
    model.cuda()
    best, best_net = 0, None
    for _ in range(epochs):
        for x, y in train_dl:
            opt.zero_grad()
            crit(model(x.cuda()), y.cuda()).backward()
            opt.step()
        acc = evaluate(model, val_dl)
        if acc > best:
            best = acc
            best_net = copy.deepcopy(model)
    return best_net
