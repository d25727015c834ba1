"""The cudaMallocAsync backend: PyTorch's numbers come from the driver's own pool."""

import torch

MIB = 1 << 20
assert torch.cuda.get_allocator_backend() == "cudaMallocAsync"
free, _ = torch.cuda.mem_get_info()
a = torch.empty(10 * MIB, dtype=torch.uint8, device="cuda")
b = torch.empty(50 * MIB, dtype=torch.uint8, device="cuda")
assert torch.cuda.memory_allocated() == 60 * MIB
assert torch.cuda.memory_reserved() == 96 * MIB, torch.cuda.memory_reserved()
assert free - torch.cuda.mem_get_info()[0] == 96 * MIB
del a, b
assert torch.cuda.memory_allocated() == 0
assert torch.cuda.max_memory_allocated() == 60 * MIB
torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() == 0
try:
    torch.empty(1 << 42, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    pass
else:
    raise SystemExit("no error")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    c = torch.empty(MIB, dtype=torch.uint8, device="cuda")
c.record_stream(torch.cuda.current_stream())
del c
torch.cuda.synchronize()
