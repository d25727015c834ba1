import torch
from torch.cuda import OutOfMemoryError


def train_step(model, x, y, crit, optimizer):
    optimizer.zero_grad()
    loss = crit(model(x), y)
    loss.backward()
    optimizer.step()
    return float(loss)


def robust_step(model, x, y, crit, optimizer, log):
    try:
        return train_step(model, x, y, crit, optimizer)
    except OutOfMemoryError:
        log.warning("OOM at shape %s, splitting", tuple(x.shape))
        total = 0.0
        for xx, yy in zip(x.chunk(4), y.chunk(4)):
            total += train_step(model, xx, yy, crit, optimizer)
        return total / 4
