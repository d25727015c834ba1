import torch
from functools import reduce


def epoch_nll(model, loader, device, train=False, opt=None):
    batch_losses = []
    for obs, times, mask in loader:
        obs, times, mask = obs.to(device), times.to(device), mask.to(device)
        mean, var = model(obs, times, mask)
        nll = 0.5 * (((obs - mean) ** 2) / var + var.log())
        nll = nll[mask].mean()
        if train:
            opt.zero_grad()
            nll.backward()
            opt.step()
        batch_losses.append(nll)
    return reduce(lambda a, b: a + b, batch_losses) / len(batch_losses)


def run(model, train_loader, valid_loader, opt, device="cuda"):
    for epoch in range(100):
        tr = epoch_nll(model, train_loader, device, True, opt)
        va = epoch_nll(model, valid_loader, device)
        print(epoch, tr.item(), va.item())
