import torch


def train(model, loader, crit, epochs, base_lr):
    model.cuda().train()
    for ep in range(epochs):
        lr = base_lr * 0.1 ** (ep // 30)
        opt = torch.optim.AdamW(model.parameters(), lr=lr)
        for x, y in loader:
            loss = crit(model(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
