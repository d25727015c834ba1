import torch


def train(model, loader, opt, crit):
    for x, y in loader:
        opt.zero_grad(set_to_none=False)
        loss = crit(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()


def finetune_head(model, loader, lr=0.01):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        with torch.no_grad():
            for w in model.parameters():
                w -= lr * w.grad
        for w in model.parameters():
            w.grad.zero_()
