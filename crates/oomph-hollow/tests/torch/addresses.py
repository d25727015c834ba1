"""Segments lie where an H200's driver puts them, which decides between equal blocks: as measured, operation by operation."""

import os

os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
import torch

MIB = 1 << 20
kept = []


def offset(mib: int) -> float:
    kept.append(torch.empty(mib * MIB, dtype=torch.uint8, device="cuda"))
    return (kept[-1].data_ptr() - base) / MIB


first = torch.empty(2 * MIB, dtype=torch.uint8, device="cuda")
base = first.data_ptr() - 414 * MIB
assert base % (32 * MIB) == 0
assert offset(20) == 488
assert [offset(2), offset(2)] == [508, 510], "the gap that the driver leaves is full"
x = torch.ones(1024, 1024).to("cuda")
assert offset(20) < 0
torch.cat([x, x])
x.softmax(-1)
torch.arange(10, device="cuda")
assert offset(20) < 0, "their code cannot fail an assertion"
x + x
assert [offset(20), offset(32), offset(16)] == [0, 20, 52], "the stacks have moved away"
free_bytes = torch.cuda.mem_get_info()[0]
assert torch.cuda.current_blas_handle()
taken = free_bytes - torch.cuda.mem_get_info()[0]
assert taken == (64 + 32) * MIB, "a handle takes memory of its own, besides the workspace that PyTorch gives it"
assert offset(20) == 164
