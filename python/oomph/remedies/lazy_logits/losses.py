"""Which losses of lazy logits can be computed by chunks of rows."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from .loss import ChunkedCrossEntropy, Loss, without_graph
from .projection import linear


def nll_loss(
    lazy: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """`torch.nn.functional.nll_loss` of lazy logarithms of probabilities; None if it needs them whole."""
    if not lazy.is_log_softmax:
        return None
    return _chunked(lazy, target, weight, (size_average, reduce), ignore_index, reduction, 0.0, functional.nll_loss)


def cross_entropy(
    lazy: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """`torch.nn.functional.cross_entropy` of lazy logits; None if it needs them whole."""
    if lazy.is_log_softmax:
        return None
    old = (size_average, reduce)
    return _chunked(lazy, target, weight, old, ignore_index, reduction, label_smoothing, functional.cross_entropy)


def _chunked(
    lazy: Any,
    target: Any,
    weight: Any,
    old_arguments: tuple[Any, Any],
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    func: Any,
) -> Any:
    if not _is_understood(lazy, target, weight, reduction) or old_arguments != (None, None):
        return None
    hidden = lazy.rows.hidden.movedim(lazy.rows.classes_dim, -1)
    hidden = hidden.reshape(-1, hidden.shape[-1])
    dtype, autocast_dtype = lazy.dtype, lazy.projection.autocast_dtype

    def plainly(hidden: Any, head: Any, bias: Any, target: Any, weight: Any) -> Any:
        logits = linear(hidden, head, bias, autocast_dtype).to(dtype).to(loss_dtype)
        return functional.cross_entropy(
            logits, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
        )

    loss_dtype = loss_dtype_of(lazy) if func is functional.cross_entropy else lazy.dtype
    loss = Loss(
        reduction,
        ignore_index,
        label_smoothing,
        lazy.projection.dtype,
        loss_dtype,
        lazy.projection.chunk_bytes,
        plainly,
    )
    compute = ChunkedCrossEntropy.apply if lazy.projection.has_graph else without_graph
    result = compute(hidden, lazy.projection.weight, lazy.projection.bias, target.reshape(-1), weight, loss)
    return result.view(target.shape) if reduction == "none" else result


def _is_understood(lazy: Any, target: Any, weight: Any, reduction: str) -> bool:
    """Whether PyTorch would compute this, and with an index per row."""
    classes_dim = lazy.rows.classes_dim
    shape = [size for dim, size in enumerate(lazy.shape) if dim != classes_dim]
    return (
        (lazy.requires_grad or not lazy.projection.has_graph)
        and lazy.projection.is_unchanged()
        and reduction in ("mean", "sum", "none")
        and lazy.dim() >= 2
        and classes_dim == 1
        and type(target) is torch.Tensor
        and target.dtype == torch.long
        and list(target.shape) == shape
        and target.numel() > 0
        and target.device == lazy.device
        and (weight is None or (weight.shape == (lazy.shape[1],) and not weight.requires_grad))
    )


def loss_dtype_of(lazy: Any) -> Any:
    """Autocast computes losses in float32."""
    is_cast = torch.is_autocast_enabled(lazy.device.type) and lazy.dtype != torch.float64
    return torch.float32 if is_cast else lazy.dtype
