from itertools import cycle, islice

import torch


def forever(loader):
    """Starts the loader again when it is through; nothing is kept."""
    while True:
        yield from loader


def train(model, labelled, unlabelled, steps=100_000):
    opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, nesterov=True)
    weights = cycle([1.0, 0.5, 0.25])  # three numbers, not three batches
    pairs = zip(forever(labelled), forever(unlabelled))
    for step, ((x, y), u) in enumerate(islice(pairs, steps)):
        x, y, u = x.cuda(), y.cuda(), u.cuda()
        with torch.no_grad():
            conf, pseudo = model(u).softmax(-1).max(-1)
        keep = conf > 0.95
        loss = torch.nn.functional.cross_entropy(model(x), y)
        if keep.any():
            loss = loss + next(weights) * torch.nn.functional.cross_entropy(model(u[keep]), pseudo[keep])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 500 == 0:
            print(step, loss.item())
