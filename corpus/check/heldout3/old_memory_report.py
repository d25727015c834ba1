"""Prints the allocator's state between the phases of the ablation."""
from contextlib import contextmanager

import torch
import torch.cuda as tc


def mib(n):
    return f"{n / 2 ** 20:9.1f} MiB"


@contextmanager
def phase(name, device=0):
    tc.reset_max_memory_allocated(device)
    before = tc.memory_allocated(device)
    try:
        yield
    finally:
        tc.synchronize(device)
        print(f"[{name}] kept {mib(tc.memory_allocated(device) - before)} peak {mib(tc.max_memory_allocated(device))}")
        print(f"[{name}] cached {mib(tc.memory_cached(device))} at most {mib(torch.cuda.max_memory_cached(device))}")


def clear():
    """Called between two phases."""
    torch.cuda.clear_cache()


def ablation(build, batches, variants):
    result = {}
    for v in variants:
        with phase(str(v)):
            net = build(v).cuda()
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for x, y in batches:
                loss = torch.nn.functional.mse_loss(net(x.cuda()), y.cuda())
                opt.zero_grad()
                loss.backward()
                opt.step()
            result[v] = loss.item()
            del net, opt, loss
        clear()
    return result
