"""Tensors take what the allocator says, copies to the host are zeros and are counted, freed memory comes back."""

import ctypes

import torch

hollow = ctypes.CDLL(None)
hollow.oomph_hollow_reads.restype = ctypes.c_uint64
hollow.oomph_hollow_device_bytes.restype = ctypes.c_uint64

free, total = torch.cuda.mem_get_info()
assert total == torch.cuda.get_device_properties(0).total_memory
block = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
assert torch.cuda.memory_allocated() == 64 << 20
assert torch.cuda.mem_get_info() == (free - (64 << 20), total)
assert hollow.oomph_hollow_device_bytes(0) == total - free + (64 << 20)
assert block.data_ptr() % (2 << 20) == 0

small = torch.empty(3, device="cuda")
assert torch.cuda.memory_allocated() == (64 << 20) + 512
assert torch.cuda.memory_reserved() == (64 << 20) + (2 << 20)

reads = hollow.oomph_hollow_reads()
assert torch.ones(1000, device="cuda").cpu().tolist() == [0.0] * 1000
assert hollow.oomph_hollow_reads() == reads + 1
assert torch.full((), 7.0, device="cuda").item() == 0.0
assert hollow.oomph_hollow_reads() == reads + 2

host = torch.arange(1 << 20).cuda()
assert hollow.oomph_hollow_reads() == reads + 2, "copies to the device are no reads"
strided = host.view(1024, 1024)[:, ::2].cpu()
assert strided.shape == (1024, 512) and strided.sum() == 0

del block, small, host
torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() == 0
assert torch.cuda.mem_get_info()[0] == free

pinned = torch.randn(1 << 20).pin_memory()
assert pinned.is_pinned() and not torch.randn(4).is_pinned()
assert pinned.sum() != 0
copy = pinned.to("cuda", non_blocking=True)
event = torch.cuda.Event()
event.record()
assert event.query()
back = torch.empty_like(pinned).pin_memory()
back.copy_(copy, non_blocking=True)
torch.cuda.synchronize()
assert back.sum() == 0
