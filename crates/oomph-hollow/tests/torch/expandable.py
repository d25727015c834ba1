"""expandable_segments: physical memory is mapped as needed, and given back."""

import torch

MIB = 1 << 20
free, _ = torch.cuda.mem_get_info()
blocks = [torch.empty(30 * MIB, dtype=torch.uint8, device="cuda") for _ in range(10)]
assert torch.cuda.memory_reserved() == 300 * MIB, torch.cuda.memory_reserved()
assert free - torch.cuda.mem_get_info()[0] == 300 * MIB
addresses = sorted(block.data_ptr() for block in blocks)
assert all(b - a == 30 * MIB for a, b in zip(addresses, addresses[1:])), "one segment"
del blocks
torch.cuda.empty_cache()
assert torch.cuda.mem_get_info()[0] == free
grown = torch.empty(200 * MIB, dtype=torch.uint8, device="cuda")
assert torch.cuda.memory_reserved() == 200 * MIB
assert [segment["is_expandable"] for segment in torch.cuda.memory_snapshot()] == [True]
try:
    torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    pass
else:
    raise SystemExit("no error")
torch.cuda.synchronize()
del grown
