"""Where the memory of a tensor lies, found without asking for its storage.

PyTorch does not give back the memory of a storage that Python has once asked for when Python ends: it stays until the
process is over, and libraries that clean up behind themselves then find more resident than in a job that nobody watches.
"""

from __future__ import annotations

import sys
from typing import Any


def begin_of(tensor: Any) -> int:
    """Where the storage of a tensor begins; 0 if it has no memory.

    The method of the class below is asked: in plans, whoever asks the tensor's own is taken to write to that memory.
    """
    address = sys.modules["torch"]._C.TensorBase.data_ptr(tensor)
    return int(address - tensor.storage_offset() * tensor.element_size()) if address else 0


def reach_of(tensor: Any) -> int:
    """How many bytes of its storage lie up to the end of a tensor: for all but views, the whole."""
    if tensor.is_contiguous():
        elements = tensor.numel()
    else:
        elements = 1 + sum((length - 1) * step for length, step in zip(tensor.shape, tensor.stride(), strict=True))
    return int((tensor.storage_offset() + elements) * tensor.element_size())
