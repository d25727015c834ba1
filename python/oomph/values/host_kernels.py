"""The host's own version of what the card ran.

Results that only serve the card's own gradient kernels are not given, and read as zeros: the gradients here do without.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from .nodes import Record, flat, mapped

#: Products, which most hosts do many times as fast in float32 as in 16 bits.
_PRODUCTS = ("convolution", "convolution_backward", "mm", "addmm", "bmm", "baddbmm", "addbmm", "addmv", "mv")

#: Attention as a card has it.
_ATTENTION = frozenset(
    f"_scaled_dot_product_{kernel}_attention{ending}"
    for kernel in ("efficient", "cudnn", "flash")
    for ending in ("", "_backward")
)


class HostKernels:
    """Calls an operator on the host; some have no version of their own there."""

    def __init__(self, torch: ModuleType) -> None:
        self.torch = torch
        self.generator = torch.Generator(device="cpu")
        self._low = (torch.float16, torch.bfloat16)
        self._slow = (torch.float16,) if _multiplies_bfloat16() else self._low
        self._own: dict[str, Callable[..., Any]] = {
            "_softmax": self._softmax,
            "_log_softmax": self._softmax,
            "cudnn_batch_norm": self._batch_norm,
            "cudnn_batch_norm_backward": self._batch_norm_backward,
            "cudnn_grid_sampler": self._grid_sampler,
            "cudnn_grid_sampler_backward": self._grid_sampler_backward,
            "_thnn_fused_lstm_cell": self._lstm_cell,
            "_thnn_fused_gru_cell": self._gru_cell,
        }

    def call(self, record: Record, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What the operator gives."""
        torch, call = self.torch, record.call
        if call.name in _ATTENTION:
            return self._attention(call.operator._schema, args, kwargs)
        own = self._own.get(call.name)
        if own is not None:
            if call.name.endswith("softmax"):
                return own(call.operator, *args)
            return own(*args, **kwargs)
        if not call.draws:
            return self._call(record, args, kwargs)
        # Any draw serves as well as the card's; the same one each time, whatever is worked out in which order.
        args = mapped(args, torch.Generator, lambda _: None)
        kwargs = {name: None if isinstance(value, torch.Generator) else value for name, value in kwargs.items()}
        state = torch.default_generator.get_state()
        try:
            torch.default_generator.manual_seed(record.at)
            return self._call(record, args, kwargs)
        finally:
            torch.default_generator.set_state(state)

    def _call(self, record: Record, args: list[Any], kwargs: dict[str, Any]) -> Any:
        tensors = [*flat(args, self.torch.Tensor), *flat(list(kwargs.values()), self.torch.Tensor)]
        if record.call.name in _PRODUCTS and any(tensor.dtype in self._slow for tensor in tensors):
            return self._raised(record, args, kwargs)
        is_low = any(tensor.dtype in self._low for tensor in tensors)
        try:
            return record.call.operator(*args, **kwargs)
        except (RuntimeError, NotImplementedError):
            if not is_low:
                raise
            return self._raised(record, args, kwargs)

    def _raised(self, record: Record, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """With all numbers as float32; what was written is written back."""
        torch, pairs = self.torch, []

        def raised(tensor: Any) -> Any:
            if tensor.dtype not in self._low:
                return tensor
            pairs.append((tensor, tensor.float()))
            return pairs[-1][1]

        def of_dtype(dtype: Any) -> Any:
            return torch.float32 if dtype in self._low else dtype

        args = mapped(mapped(args, torch.Tensor, raised), torch.dtype, of_dtype)
        kwargs = {
            name: mapped(mapped(value, torch.Tensor, raised), torch.dtype, of_dtype) for name, value in kwargs.items()
        }
        result = record.call.operator(*args, **kwargs)
        if record.written:
            for old, new in pairs:
                old.copy_(new)
        return result

    def _softmax(self, operator: Any, x: Any, dim: int, half_to_float: bool) -> Any:
        return operator(x.float() if half_to_float else x, dim, False)

    def _batch_norm(
        self, x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float
    ) -> list[Any]:
        return [*self.torch.ops.aten.native_batch_norm(x.float(), weight, bias, mean, var, training, momentum, eps)]

    def _batch_norm_backward(
        self,
        x: Any,
        grad: Any,
        weight: Any,
        mean: Any,
        var: Any,
        save_mean: Any,
        save_var: Any,
        eps: float,
        _reserve: Any,
    ) -> Any:
        backward = self.torch.ops.aten.native_batch_norm_backward
        return backward(grad.float(), x.float(), weight, mean, var, save_mean, save_var, True, eps, [True] * 3)

    # Of cuDNN's making are only samplers between corners, with zeros around.

    def _grid_sampler(self, x: Any, grid: Any) -> Any:
        return self.torch.ops.aten.grid_sampler_2d(x.float(), grid.float(), 0, 0, True)

    def _grid_sampler_backward(self, x: Any, grid: Any, grad: Any) -> Any:
        backward = self.torch.ops.aten.grid_sampler_2d_backward
        return backward(grad.float(), x.float(), grid.float(), 0, 0, True, [True, True])

    # Recurrent cells: the gates come multiplied by their weights; what they keep for gradients is not given.

    def _lstm_cell(self, x: Any, h: Any, cell: Any, x_bias: Any = None, h_bias: Any = None) -> list[Any]:
        gates = x + h if x_bias is None else x + x_bias + (h + h_bias)
        keep_in, forget, new, out = gates.float().chunk(4, 1)
        cell = forget.sigmoid() * cell + keep_in.sigmoid() * new.tanh()
        return [out.sigmoid() * cell.tanh(), cell]

    def _gru_cell(self, x: Any, h: Any, state: Any, x_bias: Any = None, h_bias: Any = None) -> list[Any]:
        x, h = (x, h) if x_bias is None else (x + x_bias, h + h_bias)
        (x_reset, x_update, x_new), (h_reset, h_update, h_new) = x.float().chunk(3, 1), h.float().chunk(3, 1)
        reset, update = (x_reset + h_reset).sigmoid(), (x_update + h_update).sigmoid()
        new = (x_new + reset * h_new).tanh()
        return [(state - new) * update + new]

    # Attention: softmax(q k^T * scale + bias) v, without dropout.

    def _scores(self, q: Any, k: Any, bias: Any, is_causal: bool, scale: float) -> Any:
        scores = q @ k.transpose(-1, -2) * scale
        if bias is not None:
            scores = scores + bias
        if is_causal:
            seen = self.torch.ones(scores.shape[-2:], dtype=self.torch.bool, device="cpu").tril()
            scores = scores.masked_fill(~seen, float("-inf"))
        return scores

    def _forward(self, q: Any, k: Any, v: Any, bias: Any, is_causal: bool, scale: float | None) -> list[Any]:
        q, k, v = _float_with_all_heads(q, k, v)
        attend = self.torch.ops.aten.scaled_dot_product_attention
        bias = bias if bias is None or bias.dtype == self.torch.bool else bias.float()
        return [attend(q, k, v, bias, 0.0, is_causal, scale=scale)]

    def _backward(
        self, grad: Any, q: Any, k: Any, v: Any, bias: Any, is_causal: bool, scale: float | None
    ) -> list[Any]:
        heads = k.size(1)
        q, k, v = _float_with_all_heads(q, k, v)
        scale, grad = scale or q.size(-1) ** -0.5, grad.float()
        p = self._scores(q, k, bias, is_causal, scale).softmax(-1)
        d_p = grad @ v.transpose(-1, -2)
        d_scores = p * (d_p - (d_p * p).sum(-1, keepdim=True))
        d_k, d_v = d_scores.transpose(-1, -2) @ q * scale, p.transpose(-1, -2) @ grad
        if heads != q.size(1):
            d_k, d_v = (d.unflatten(1, (heads, -1)).sum(2) for d in (d_k, d_v))
        return [d_scores @ k * scale, d_k, d_v, d_scores]

    def _attention(self, schema: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
        """Any of the card's kernels: each has arguments of its own beside these, which have the same names in all."""
        given = {argument.name: value for argument, value in zip(schema.arguments, args)} | kwargs
        q, k, v = given["query"], given["key"], given["value"]
        options = (given.get("attn_bias"), given.get("is_causal", False), given.get("scale"))
        if not schema.name.endswith("_backward"):
            return self._forward(q, k, v, *options)
        # Only some give a gradient of the bias.
        return self._backward(args[0], q, k, v, *options)[: len(schema.returns)]


def _multiplies_bfloat16() -> bool:
    """Whether the processor has instructions for it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return "avx512_bf16" in file.read(1 << 14)
    except OSError:
        return False


def _float_with_all_heads(q: Any, k: Any, v: Any) -> tuple[Any, Any, Any]:
    """As float32; keys and values that several heads share are repeated."""
    q, k, v = (tensor.float() for tensor in (q, k, v))
    if k.size(1) != q.size(1):
        k, v = (tensor.repeat_interleave(q.size(1) // tensor.size(1), 1) for tensor in (k, v))
    return q, k, v
