import itertools

import torch


def forever(loader):
    while True:
        yield from loader


def train(model, small, big, opt, steps):
    scales = itertools.cycle([0.75, 1.0, 1.25])
    big_it = forever(big)
    model.train()
    for step, (x, y) in zip(range(steps), forever(small)):
        s = next(scales)
        u = next(big_it).cuda()
        x = torch.nn.functional.interpolate(x.cuda(), scale_factor=s)
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y.cuda()) + 0.1 * model(u).pow(2).mean()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(step, s, loss.item())
