"""PyTorch tries one convolution algorithm after the other until the workspace of one fits. The allocator counts every
refusal as out of memory; only what reaches Python as an `OutOfMemoryError` is an error that a script can catch."""

import torch

told = []
torch._C._cuda_attach_out_of_memory_observer(lambda device, wanted, allocated, free: told.append(wanted))
reached = []


def count(self, *arguments):
    reached.append(self)
    RuntimeError.__init__(self, *arguments)


# Made by C++, and instantiated when Python first looks at it.
torch.OutOfMemoryError.__init__ = count


def refusals():
    return torch.cuda.memory_stats()["num_ooms"]


convolution = torch.nn.Conv2d(256, 256, 3, padding=1).cuda()
images = torch.zeros(32, 256, 56, 56, device="cuda", requires_grad=True)
# Room for a result, and next to nothing for workspaces.
free_bytes, _ = torch.cuda.mem_get_info()
kept = torch.empty(free_bytes - 2 * images.nbytes - (40 << 20), dtype=torch.uint8, device="cuda")
convolution(images).sum().backward()
assert refusals() == len(told) > 0, told
assert not reached, "nothing of it was an error"

try:
    torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    pass
assert refusals() == len(told)
assert len(reached) == 1
