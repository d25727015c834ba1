import torch


def sgd(model, loader, crit, lr=0.05):
    for x, y in loader:
        for p in model.parameters():
            if p.grad is not None:
                p.grad.data.zero_()
        loss = crit(model(x.cuda()), y.cuda())
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= lr * p.grad
