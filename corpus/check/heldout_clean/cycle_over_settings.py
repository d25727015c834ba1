from itertools import cycle, islice

import torch


def schedule_devices(jobs):
    for job, dev in zip(jobs, cycle(range(torch.cuda.device_count()))):
        job.device = f"cuda:{dev}"
    return jobs


def peek(loader, n=4):
    """A few batches to look at."""
    return list(islice(loader, n))


def endless(loader):
    while True:
        yield from loader


def warm_up(model, loader, opt, steps):
    for (x, y), lr in zip(endless(loader), cycle([1e-4, 3e-4])):
        for g in opt.param_groups:
            g["lr"] = lr
        opt.zero_grad()
        torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        opt.step()
        steps -= 1
        if steps == 0:
            return
