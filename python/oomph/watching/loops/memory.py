"""What PyTorch's allocators have counted: all cards together, and the host."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple


class Numbers(NamedTuple):
    """One moment."""

    #: Bytes live now.
    live_bytes: int = 0
    #: Bytes and blocks allocated since the start.
    allocated_bytes: int = 0
    allocations: int = 0
    #: Requests refused since the start.
    shortages: int = 0
    #: Bytes live on the host; of these, those of tensors; and what is resident, where that tells anything.
    host_bytes: int = 0
    host_tensor_bytes: int = 0
    resident_bytes: int = 0


def numbers(host_tensor_bytes: int = 0) -> Numbers:
    """The numbers now, with what tensors hold on the host. Only while CUDA is in use."""
    torch: Any = sys.modules["torch"]
    total = [0, 0, 0, 0]
    for device in range(torch.cuda.device_count()):
        stats = torch._C._cuda_memoryStats(device)
        size, count = stats["allocated_bytes"]["all"], stats["allocation"]["all"]
        for index, value in enumerate((size["current"], size["allocated"], count["allocated"], stats["num_ooms"])):
            total[index] += value
    return Numbers(*total, host_tensor_bytes, host_tensor_bytes)
