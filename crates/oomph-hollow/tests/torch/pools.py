"""MemPool of the caching allocator."""

import torch

pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    inside = torch.empty(32 << 20, dtype=torch.uint8, device="cuda")
outside = torch.empty(32 << 20, dtype=torch.uint8, device="cuda")
assert torch.cuda.memory_reserved() == 64 << 20
assert len(pool.snapshot()) == 1
del inside, outside
torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() == 32 << 20, "a pool keeps what it has"
del pool
torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() == 0
