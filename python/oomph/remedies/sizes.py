"""How many bytes a model takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any


def model_bytes(model: Any) -> int:
    """The bytes of its parameters and buffers, each memory once; quantized ones count what they really hold."""
    storages = {}
    for tensor in chain(model.parameters(), model.buffers()):
        for plain in _plain_tensors(tensor):
            storage = plain.untyped_storage()
            # Tensors without memory (on `meta`) have no address to tell them apart by.
            key = (storage.data_ptr() or id(plain), plain.device)
            storages[key] = storage.nbytes()
    return sum(storages.values())


def trainable_bytes(model: Any) -> int:
    """The bytes of the parameters that get gradients."""
    return sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)


def _plain_tensors(tensor: Any) -> Iterator[Any]:
    flatten = getattr(type(tensor), "__tensor_flatten__", None)
    if flatten is None or not _is_wrapper(tensor):
        yield tensor
        return
    for name in tensor.__tensor_flatten__()[0]:
        yield from _plain_tensors(getattr(tensor, name))


def _is_wrapper(tensor: Any) -> bool:
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    return bool(is_traceable_wrapper_subclass(tensor))
