"""Looks for the largest batch that fits: by what the driver says is free, and by running out of memory."""

import torch
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size
from torch import nn

WIDTH = 2048
free_bytes, total_bytes = torch.cuda.mem_get_info()
largest = free_bytes // (4 * WIDTH)
accelerator = Accelerator()


@find_executable_batch_size(starting_batch_size=largest + largest // 4)
def train(batch_size):
    accelerator.free_memory()
    net = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
    net, optimizer = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    accelerator.backward(net(torch.randn(batch_size, WIDTH, device="cuda")).square().mean())
    optimizer.step()
    return batch_size


found = train()
assert largest // 16 < found < largest, (found, largest)
net, count = nn.Linear(WIDTH, WIDTH).cuda(), 4 * largest
while True:
    try:
        net(torch.randn(count, WIDTH, device="cuda")).sum().backward()
        break
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        count //= 2
assert count < largest
