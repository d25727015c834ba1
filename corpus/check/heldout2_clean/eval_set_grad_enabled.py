import torch


def run(model, loader, criterion, opt=None):
    train = opt is not None
    model.train(train)
    total, outs = 0.0, []
    for x, y in loader:
        with torch.set_grad_enabled(train):
            out = model(x.cuda())
            loss = criterion(out, y.cuda())
        if train:
            opt.zero_grad()
            loss.backward()
            opt.step()
        total += loss.item()
        outs.append(out.detach().argmax(-1).cpu())
    return total / len(loader), torch.cat(outs)
