import torch


def endless(loader):
    while True:
        yield from loader


def train(model, loader, opt, steps):
    stream = endless(loader)
    for _ in range(steps):
        x, y = next(stream)
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
