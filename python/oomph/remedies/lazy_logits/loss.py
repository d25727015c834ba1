"""The cross entropy of a projection, by chunks of rows: the logits of all rows never exist at once.

The gradients are made together with the loss, while the logits of a chunk are there, so that no logits are computed
twice. Each chunk has one buffer of its logits, which becomes the gradient in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch


class Gradients(NamedTuple):
    """Of the hidden states, the weight and the bias, each None where nobody needs it."""

    hidden: Any
    weight: Any
    bias: Any


@dataclass(frozen=True)
class Loss:
    """What `torch.nn.functional.cross_entropy` was asked for, and of which projection."""

    #: "mean", "sum" or "none".
    reduction: str
    ignore_index: int
    label_smoothing: float
    #: In which the projection computes its logits: autocast's, or the hidden states' own.
    logits_dtype: Any
    #: In which the loss comes.
    loss_dtype: Any
    #: How large a chunk's buffers may be.
    chunk_bytes: int
    #: The same from the tensors alone, as the script would have computed it, for second derivatives.
    plainly: Callable[..., Any]


def without_graph(hidden: Any, weight: Any, bias: Any, target: Any, class_weight: Any, loss: Loss) -> Any:
    """The loss alone, of (rows, width) hidden states, a projection, one target per row, and a weight per class."""
    rows = _Rows(hidden, weight, bias, target, class_weight, loss)
    return _reduced(rows.compute((False, False, False))[0], rows.total_weight(), loss)


def _reduced(each: Any, total_weight: Any, loss: Loss) -> Any:
    if loss.reduction == "none":
        return each.to(loss.loss_dtype)
    total = each.sum()
    return (total / total_weight if loss.reduction == "mean" else total).to(loss.loss_dtype)


class ChunkedCrossEntropy(torch.autograd.Function):
    """The loss of (rows, width) hidden states, a projection, one target per row, and a weight per class or None."""

    @staticmethod
    def forward(ctx: Any, hidden: Any, weight: Any, bias: Any, target: Any, class_weight: Any, loss: Loss) -> Any:
        ctx.save_for_backward(hidden, weight, bias, target, class_weight)
        ctx.loss = loss
        ctx.wanted = tuple(ctx.needs_input_grad[:3])
        gradients_too = ctx.wanted if loss.reduction != "none" else (False, False, False)
        rows = _Rows(hidden, weight, bias, target, class_weight, loss)
        each, ctx.made = rows.compute(gradients_too)
        ctx.total_weight = rows.total_weight()
        return _reduced(each, ctx.total_weight, loss)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        tensors = ctx.saved_tensors
        loss = ctx.loss
        if torch.is_grad_enabled():
            return (*_differentiable(tensors, loss, ctx.wanted, gradient), None, None, None)
        # What was made with the loss is used up by the first backward pass; a second one makes it again.
        made, ctx.made = ctx.made, None
        if loss.reduction == "none":
            _, made = _Rows(*tensors, loss).compute(ctx.wanted, row_scale=gradient)
            scale = None
        else:
            if made is None:
                _, made = _Rows(*tensors, loss).compute(ctx.wanted)
            scale = _scale(gradient, ctx.total_weight, loss)
        return (*_scaled(made, scale, tensors), None, None, None)


def _scale(gradient: Any, total_weight: Any, loss: Loss) -> Any:
    gradient = gradient.to(total_weight.dtype)
    if loss.reduction == "sum":
        return gradient
    # With nothing counted the loss is nan, and the gradients are zeros: as in PyTorch.
    return torch.where(total_weight == 0, torch.zeros_like(gradient), gradient / total_weight)


def _scaled(made: Gradients, scale: Any, tensors: Any) -> Any:
    for gradient, tensor in zip(made, tensors):
        if gradient is None:
            yield None
        else:
            yield (gradient if scale is None else gradient.mul_(scale)).to(tensor.dtype)


def _differentiable(tensors: Any, loss: Loss, wanted: Any, gradient: Any) -> Any:
    """For `create_graph`: gradients that can be differentiated again need the logits after all."""
    inputs = [tensor for tensor, is_wanted in zip(tensors, wanted) if is_wanted]
    found = iter(torch.autograd.grad(loss.plainly(*tensors), inputs, gradient, create_graph=True))
    return [next(found) if is_wanted else None for is_wanted in wanted]


class _Rows:
    """One pass over all rows."""

    def __init__(self, hidden: Any, weight: Any, bias: Any, target: Any, class_weight: Any, loss: Loss) -> None:
        self._loss = loss
        self._hidden = hidden.detach()
        self._weight = weight.detach().to(loss.logits_dtype)
        self._bias = None if bias is None else bias.detach().to(loss.logits_dtype)
        self._weight_dtype, self._bias_dtype = weight.dtype, None if bias is None else bias.dtype
        # Halves are too short for sums over a vocabulary.
        is_short = torch.finfo(loss.logits_dtype).bits < 32
        self._dtype = torch.float32 if is_short else torch.promote_types(loss.logits_dtype, loss.loss_dtype)
        self._class_weight = None if class_weight is None else class_weight.detach().to(self._dtype)
        self._counts = target != loss.ignore_index
        self._target = torch.where(self._counts, target, 0)
        classes = weight.shape[0]
        if self._class_weight is None:
            self._target_weight = self._counts.to(self._dtype)
        else:
            self._target_weight = self._class_weight[self._target] * self._counts
        element_bytes = self._dtype.itemsize + (loss.logits_dtype.itemsize if self._dtype != loss.logits_dtype else 0)
        self._step = max(1, loss.chunk_bytes // (classes * element_bytes))
        self._smoothing = loss.label_smoothing / classes

    def total_weight(self) -> Any:
        """What the mean divides by."""
        return self._target_weight.sum()

    def compute(self, wanted: tuple[bool, bool, bool], row_scale: Any = None) -> tuple[Any, Gradients | None]:
        """The loss of each row and, if any are wanted, the gradients of their sum, each row times its scale."""
        with torch.no_grad(), torch.autocast(self._hidden.device.type, enabled=False):
            each = torch.empty(self._hidden.shape[0], dtype=self._dtype, device=self._hidden.device)
            made = self._empty(wanted) if any(wanted) else None
            for start in range(0, len(each), self._step):
                chunk = slice(start, start + self._step)
                hidden = self._hidden[chunk].to(self._loss.logits_dtype)
                logits = torch.nn.functional.linear(hidden, self._weight, self._bias).to(self._dtype)
                each[chunk], sums = self._losses(logits, chunk)
                if made is not None:
                    gradient = self._gradient(logits, sums, chunk, row_scale).to(self._loss.logits_dtype)
                    del logits
                    self._add(made, gradient, hidden, chunk)
            return each, made

    def _empty(self, wanted: tuple[bool, bool, bool]) -> Gradients:
        device = self._hidden.device
        hidden = torch.empty_like(self._hidden, dtype=self._loss.logits_dtype) if wanted[0] else None
        # Summed over all chunks: in halves the small ones would be lost.
        dtype = torch.promote_types(self._weight_dtype, torch.float32)
        weight = torch.zeros(self._weight.shape, dtype=dtype, device=device) if wanted[1] else None
        bias = torch.zeros(self._weight.shape[0], dtype=dtype, device=device) if wanted[2] else None
        return Gradients(hidden, weight, bias)

    def _losses(self, logits: Any, chunk: slice) -> tuple[Any, Any]:
        """The losses of a chunk. The logits become their exponentials; comes with the sum of each row."""
        logits.sub_(logits.amax(1, keepdim=True))
        of_target = logits.gather(1, self._target[chunk, None])[:, 0]
        smooth = None
        if self._smoothing:
            smooth = logits.sum(1) if self._class_weight is None else logits @ self._class_weight
        sums = logits.exp_().sum(1)
        logs = sums.log()
        losses = (logs - of_target) * self._target_weight[chunk] * (1 - self._loss.label_smoothing)
        if smooth is not None:
            losses += (logs * self._all_weights() - smooth) * self._counts[chunk] * self._smoothing
        # Whatever an ignored row computes to, it is ignored.
        return losses.masked_fill_(~self._counts[chunk], 0), sums

    def _gradient(self, exponentials: Any, sums: Any, chunk: slice, row_scale: Any) -> Any:
        """The gradient of the logits, in the buffer of their exponentials."""
        hard = self._target_weight[chunk] * (1 - self._loss.label_smoothing)
        soft = self._counts[chunk].to(self._dtype) * self._smoothing
        if row_scale is not None:
            hard, soft = hard * row_scale[chunk], soft * row_scale[chunk]
        factor = (hard + soft * self._all_weights()) / sums
        gradient = exponentials.mul_(factor[:, None])
        gradient.scatter_add_(1, self._target[chunk, None], -hard[:, None].to(gradient.dtype))
        if self._smoothing:
            weights = self._class_weight
            gradient.addr_(soft, gradient.new_ones(gradient.shape[1]) if weights is None else weights, alpha=-1)
        return gradient

    def _all_weights(self) -> Any:
        return self._weight.shape[0] if self._class_weight is None else self._class_weight.sum()

    def _add(self, made: Gradients, gradient: Any, hidden: Any, chunk: slice) -> None:
        if made.hidden is not None:
            torch.mm(gradient, self._weight, out=made.hidden[chunk])
        if made.weight is not None:
            if made.weight.dtype == gradient.dtype:
                made.weight.addmm_(gradient.t(), hidden)
            else:
                made.weight.add_(gradient.t() @ hidden)
        if made.bias is not None:
            made.bias.add_(gradient.sum(0, dtype=made.bias.dtype))
