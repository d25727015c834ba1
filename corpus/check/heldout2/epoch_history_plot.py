import matplotlib.pyplot as plt
import torch


def fit(model, loader, opt, loss_fn, epochs):
    history = {"train": [], "lr": []}
    for epoch in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            loss = loss_fn(model(x.cuda()), y.cuda())
            loss.backward()
            opt.step()
            history["train"].append(loss)
            history["lr"].append(opt.param_groups[0]["lr"])
    plt.plot(torch.stack(history["train"]).detach().cpu())
    plt.savefig("loss.png")
    return history
