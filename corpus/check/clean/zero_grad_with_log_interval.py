import torch


def train(model, loader, opt, crit, log_interval=100):
    model.train()
    for step, (x, y) in enumerate(loader):
        opt.zero_grad()
        loss = crit(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
        if step % log_interval == 0:
            print(step, loss.item())
