import contextlib

import torch


def precision(device, enabled):
    if not enabled:
        return contextlib.nullcontext()
    if device == "cpu":
        return torch.cpu.amp.autocast(dtype=torch.bfloat16)
    return torch.autocast(device, dtype=torch.bfloat16)


def train_step(model, batch, opt, device, enabled=True):
    opt.zero_grad()
    with precision(device, enabled):
        loss = model(batch["x"].to(device), batch["y"].to(device))
    loss.backward()
    opt.step()
    return loss.item()
