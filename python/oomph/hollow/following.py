"""Follows values that are known through PyTorch's operators, and answers where operators or the script read them.

Each followed operator runs on the hollow card exactly as it would; then, if the values of all its inputs are known, it
runs on the host too. Where a size depends on values that nobody knows, the most there can be is taken: a plan that is
too large costs thought, one that is too small costs the job.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..values import ensuring
from ..values.steering import Fate, reading
from . import reads
from .earlier_answers import EarlierAnswers
from .operators import Shape, takes_tensors, tensors_of
from .sizes import SizeReads
from .values import MOST_FLOATS_FROM_HOST, Values

if TYPE_CHECKING:
    from ..values.recording import Recorder

#: Operators whose results follow from their inputs alone.
_FOLLOWED = """
    eq ne lt le gt ge isin bitwise_and bitwise_or bitwise_xor bitwise_not logical_and logical_or logical_xor logical_not
    sum any all max min amax amin argmax argmin cumsum cumprod cummax count_nonzero sort topk argsort bincount histc
    searchsorted bucketize gather index index_select take cat stack repeat roll flip constant_pad_nd tril triu where
    scatter scatter_add scatter_reduce index_add index_fill index_put index_copy masked_fill clamp clamp_min clamp_max
    maximum minimum abs sign ceil floor round trunc floor_divide remainder fmod bitwise_left_shift bitwise_right_shift
    clone one_hot prod _unsafe_index _stack _amp_update_scale_ nonzero_static _foreach_add_
    scatter_ scatter_add_ scatter_reduce_ index_add_ index_fill_ index_put_ _index_put_impl_ index_copy_ masked_fill_
    clamp_ clamp_min_ clamp_max_ bitwise_and_ bitwise_or_ bitwise_xor_ bitwise_not_ logical_and_ logical_or_
    logical_not_ logical_xor_ floor_divide_ remainder_ cumsum_ masked_scatter_ masked_scatter
    eq_ ne_ lt_ le_ gt_ ge_ abs_ neg_ square_ sign_ pow_ gcd_ lcm_ fmod_ cumprod_ tril_ triu_ fill_diagonal_ put_
    index_reduce_ bitwise_left_shift_ bitwise_right_shift_ __ilshift__ __irshift__ floor_ ceil_ trunc_ round_
""".split()
#: Operators that write all of what they are given, whatever it held.
_OVERWRITING = "fill_ zero_ arange random_ randperm eye linspace uniform_ bernoulli_ tril_indices triu_indices".split()
#: Operators that draw: their own values serve as well as the card's.
_DRAWING = ("random_", "randperm", "uniform_", "bernoulli_")
#: Operators that draw on the host, where numbers may be owed.
_DRAWING_ON_HOST = "normal_ exponential_ log_normal_ geometric_ cauchy_ bernoulli poisson native_dropout".split()
#: Python's arithmetic. The operators behind it add up gradients, in which nobody may interfere.
_ARITHMETIC = {
    "__add__": "add", "__radd__": "add", "__mul__": "mul", "__rmul__": "mul", "__sub__": "sub", "__rsub__": "rsub",
    "__truediv__": "div", "__neg__": "neg", "add": "add", "mul": "mul", "sub": "sub", "div": "div",
}  # fmt: skip
_ARITHMETIC_IN_PLACE = {
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "add_": "add_", "sub_": "sub_", "mul_": "mul_",
}  # fmt: skip
_NUMBERS = (bool, int, float, complex)
#: What is kept is small, but a few numbers can be expanded to billions, which nobody wants to add up on the host.
MOST_ELEMENTS_READ = 1 << 24


class Following:
    """The operators that are followed."""

    def __init__(
        self,
        noted: reads.Reads,
        check: Callable[[], None],
        catch_up: Callable[[Any], None],
        recorder: Recorder | None = None,
    ) -> None:
        self.reads = noted
        #: Works out what is not known here, in a run with values on demand.
        self.recorder = recorder
        self.answers = EarlierAnswers()
        self.check = check
        self.catch_up = catch_up
        self._busy = threading.local()

    def install(self, torch: ModuleType) -> None:
        """Puts a step before each of them."""
        self.torch = torch
        self.values = Values(torch)
        self.sizes = SizeReads(self)
        self.sizes.earlier.install()
        self.library = torch.library.Library("aten", "IMPL")
        key = torch._C.DispatchKey.BackendSelect
        self._below = torch._C._dispatch_keyset_full_after(key)
        self._generator = torch.Generator().manual_seed(0)
        if self.recorder is not None:
            self.recorder.install(torch, self.values)
        for name in _FOLLOWED:
            self._hook(name, self.follow)
        for name in _OVERWRITING:
            self._hook(name, self._overwrite, is_around=True)
        special = {
            "copy_": self._copy,
            "_local_scalar_dense": self._read,
            **self.sizes.operators(),
            "_is_all_true": self._is_all_true,
            "_linalg_check_errors": self._check_errors,
            "isnan": self._isnan,
            "_amp_foreach_non_finite_check_and_unscale_": self._unscale,
        }
        for name in _DRAWING_ON_HOST:
            self._hook(name, self._draw, is_around=True)
        for name, follow in special.items():
            self._hook(name, follow, is_around=True)
        if self.recorder is not None:
            self.recorder.install_others(self)
        self._wrap_arithmetic()
        self._forget_what_escapes()

    def _hook(self, name: str, follow: Callable[..., Any], *, is_around: bool = False) -> None:
        packet = getattr(self.torch.ops.aten, name, None)
        for overload in packet.overloads() if packet is not None else ():
            operator = getattr(packet, overload)
            full_name = operator._schema.name
            if operator._schema.overload_name:
                full_name += "." + operator._schema.overload_name
            if not takes_tensors(operator) or not self.is_whole(full_name):
                continue
            kernel = self._around(operator, follow) if is_around else self._kernel(operator, follow)
            self.library.impl(full_name.split("::")[1], kernel, "BackendSelect", with_keyset=True)

    def is_whole(self, full_name: str) -> bool:
        """Whether the operator gets here in one piece: it is no mere name, not made of others, and has no step here."""
        library = self.torch._C
        if not library._dispatch_has_kernel(full_name):
            return False
        has = library._dispatch_has_kernel_for_dispatch_key
        return not has(full_name, "CompositeImplicitAutograd") and not has(full_name, "BackendSelect")

    def _kernel(self, operator: Any, follow: Callable[..., None]) -> Callable[..., Any]:
        run = self.runner(operator)
        busy = self._busy
        shape = Shape(operator)

        def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
            result = run(keyset, args, kwargs)
            if not getattr(busy, "is_on", False):
                self.aside(follow, shape, args, kwargs, result)
            return result

        return kernel

    def _around(self, operator: Any, act: Callable[..., Any]) -> Callable[..., Any]:
        run = self.runner(operator)
        busy = self._busy
        shape = Shape(operator)

        def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(busy, "is_on", False):
                return run(keyset, args, kwargs)
            return act(shape, lambda: run(keyset, args, kwargs), args, kwargs)

        return kernel

    def runner(self, operator: Any) -> Callable[..., Any]:
        """Calls the operator's own code, after turning plain numbers back into the tensors they were."""
        redispatch = operator._handle.redispatch_boxed
        places = [at for at, argument in enumerate(operator._schema.arguments) if str(argument.type) == "Tensor"]
        below = self._below
        is_copy = operator._schema.name == "aten::copy_"

        def run(keyset: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            for at in places:
                if at < len(args) and isinstance(args[at], _NUMBERS):
                    args = (*args[:at], self._tensor_of(args[at], () if is_copy else args), *args[at + 1 :])
            return redispatch(keyset & below, *args, **kwargs)

        return run if self.recorder is None else self.recorder.around(operator, run)

    def _tensor_of(self, number: Any, beside: tuple[Any, ...]) -> Any:
        """A number as a tensor that changes the type of no result, as the number would not."""
        torch = self.torch
        other = next((arg for arg in beside if isinstance(arg, torch.Tensor)), None)
        if other is not None:
            dtype = torch.result_type(other, number)
        else:
            dtype = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}[type(number)]
        return torch.ops.aten.scalar_tensor(number, dtype=dtype, device="cpu")

    def aside(self, follow: Callable[..., None], *args: Any) -> None:
        """Works on the host without following that too; what fails there is not known."""
        self._busy.is_on = True
        try:
            follow(*args)
        except Exception:  # noqa: BLE001 - whatever the host cannot do stays unknown
            shape, arguments, _, result = args
            for tensor in (*shape.written(arguments), *tensors_of(result)):
                if tensor.is_cuda:
                    self.values.forget(tensor)
        finally:
            self._busy.is_on = False

    def _forget_what_escapes(self) -> None:
        """Addresses go to kernels of other makers, graphs write again what they wrote when they were recorded, and fused
        optimizers do not count their writes."""
        torch, values = self.torch, self.values
        data_ptr, replay = torch.Tensor.data_ptr, torch.cuda.CUDAGraph.replay

        @functools.wraps(data_ptr)
        def data_ptr_given_away(tensor: Any) -> int:
            if tensor.is_cuda and tensor.layout == torch.strided:
                self.forget(tensor)
            return data_ptr(tensor)

        @functools.wraps(replay)
        def replay_over(graph: Any) -> None:
            values.forget_all()
            if self.recorder is not None:
                self.recorder.forget_all()
            return replay(graph)

        def stepped(optimizer: Any, _args: Any, _kwargs: Any) -> None:
            for weight in (weight for group in optimizer.param_groups for weight in group["params"]):
                if weight.is_cuda and torch._C._has_storage(weight):
                    values.forget(weight)

        importlib.import_module("torch.optim.optimizer").register_optimizer_step_post_hook(stepped)
        torch.Tensor.data_ptr = data_ptr_given_away
        torch.cuda.CUDAGraph.replay = replay_over

    def forget_arguments(self, *things: Any) -> None:
        """Other processes wrote these."""
        for thing in things:
            if isinstance(thing, (list, tuple)):
                self.forget_arguments(*thing)
            elif isinstance(thing, self.torch.Tensor) and thing.is_cuda and self.torch._C._has_storage(thing):
                self.forget(thing)

    def forget(self, tensor: Any) -> None:
        """Somebody wrote this tensor of the card, and nobody knows what."""
        self.values.forget(tensor)
        if self.recorder is not None:
            self.recorder.forget(tensor)

    # What is known of a result.

    def follow(self, shape: Shape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        written = shape.written(args)
        if shape.is_out:
            written += [value for name, value in kwargs.items() if name in shape.outs]
        outputs = written or tensors_of(result)
        if not outputs or not any(output.is_cuda for output in outputs):
            return
        for tensor in written if shape.name.startswith("_foreach") else ():
            self.values.counted(tensor)
        known = self.host_arguments(args, kwargs)
        if known is None:
            self.sizes.distinct.note(shape, args, kwargs, outputs)
            self._follow_unknown(shape, args, outputs, is_written=bool(written))
            return
        host_args, host_kwargs, assumed = known
        is_bearable = all(tensor.numel() <= MOST_ELEMENTS_READ for tensor in tensors_of(host_args))
        if not is_bearable or not all(self.values.may_keep(output) for output in outputs):
            return self._forget(written)
        if shape.is_out:
            host_kwargs = {name: value for name, value in host_kwargs.items() if name not in shape.outs}
        if written and not shape.is_out:
            # Works on the kept values themselves.
            shape.operator(*host_args, **host_kwargs)
            for tensor in written:
                self.values.written(tensor)
            return None
        found = tensors_of(shape.functional(*host_args, **host_kwargs))
        for output, values in zip(outputs, found, strict=True):
            self.values.put(output, values, assumed, is_new=not written)
        return None

    def host_arguments(self, args: Any, kwargs: Any) -> tuple[Any, Any, str | None] | None:
        """The arguments as the host has them, and what was assumed for that; None if a value is not known."""
        assumed: list[str] = []
        try:
            host_args = tuple(self._on_host(arg, assumed) for arg in args)
            host_kwargs = {name: self._on_host(value, assumed) for name, value in kwargs.items()}
        except _Unknown:
            return None
        return host_args, host_kwargs, assumed[0] if assumed else None

    def _on_host(self, value: Any, assumed: list[str]) -> Any:
        if isinstance(value, self.torch.Tensor):
            if not value.is_cuda:
                return value
            found = self.values.of(value)
            if found is None:
                raise _Unknown
            word = self.values.assumed(value)
            if word is not None:
                assumed.append(word)
            return found
        if isinstance(value, (list, tuple)):
            return [self._on_host(item, assumed) for item in value]
        if isinstance(value, self.torch.device):
            return self.torch.device("cpu")
        return value

    def _forget(self, tensors: list[Any]) -> None:
        for tensor in tensors:
            if tensor.is_cuda:
                self.values.forget(tensor)

    def _follow_unknown(self, shape: Shape, args: tuple[Any, ...], outputs: list[Any], *, is_written: bool) -> None:
        """What follows from less than all inputs, or from none."""
        self._forget(outputs)
        if is_written:
            return
        name, result, first = shape.name, outputs[0], args[0]
        if not self.values.may_keep(result):
            return
        if name in ("bitwise_and", "bitwise_or", "logical_and", "logical_or"):
            self._follow_half(name, args, result)
        elif name in ("eq", "ne") and self._compares_with_infinity_or_itself(args):
            self.values.put(result, self.full(result, (name == "eq") == (args[1] is first)), reads.FINITE, is_new=True)
        elif name == "ne" and result.numel() == 1:
            self.values.put(result, self.full(result, True), reads.SOME, is_new=True)
        elif name in ("any", "all") and first.numel() > result.numel():
            held = ensuring.answer() if result.numel() == 1 else None
            taken = (name == "any", reads.SOME) if held is None else (held, reads.HELD)
            self.values.put(result, self.full(result, taken[0]), taken[1], is_new=True)
        elif name in ("sum", "count_nonzero") and first.dtype == self.torch.bool:
            self.values.put(result, self.full(result, first.numel() // max(1, result.numel())), reads.ALL, is_new=True)

    def _follow_half(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        """False and anything is false; true or anything is true."""
        for value in args[:2]:
            found = self.values.of(value) if getattr(value, "is_cuda", False) else None
            if found is None:
                continue
            decides = not found.any() if name.endswith("and") else found.dtype == self.torch.bool and bool(found.all())
            if decides and found.numel() == result.numel():
                self.values.put(result, self.full(result, name.endswith("or")), self.values.assumed(value), is_new=True)

    def _compares_with_infinity_or_itself(self, args: tuple[Any, ...]) -> bool:
        """How PyTorch asks for numbers that are none or not finite."""
        return args[0] is args[1] or (isinstance(args[1], float) and args[1] in (float("inf"), float("-inf")))

    def full(self, like: Any, value: Any) -> Any:
        return self.torch.ops.aten.full(list(like.size()), value, dtype=like.dtype, device="cpu")

    def _draw(self, _shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not args[0].is_cuda:
            self.catch_up(kwargs.get("generator"))
        return run()

    def _overwrite(self, shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor = kwargs["out"] if shape.is_out else args[0]
        if not tensor.is_cuda:
            if shape.name in _DRAWING:
                self.catch_up(kwargs.get("generator"))
            return run()
        result = run()
        self.aside(self._follow_overwriting, shape, args, kwargs, result)
        return result

    def _follow_overwriting(self, shape: Shape, args: tuple[Any, ...], kwargs: dict[str, Any], _result: Any) -> None:
        tensor = kwargs["out"] if shape.is_out else args[0]
        most = {"zero_": MOST_FLOATS_FROM_HOST, "fill_": MOST_FLOATS_FROM_HOST}.get(shape.name)
        if not (self.values.may_keep(tensor, most) if most else self.values.may_keep(tensor)):
            self.values.forget(tensor)
            return
        rest = args if shape.is_out else args[1:]
        known = self.host_arguments(rest, {name: value for name, value in kwargs.items() if name != "out"})
        if known is None:
            self.values.forget(tensor)
            return
        host_rest, host_kwargs, assumed = known
        blank = self.torch.ops.aten.empty.memory_format(list(tensor.size()), dtype=tensor.dtype, device="cpu")
        if shape.name in _DRAWING:
            if self.recorder is not None:
                # Worked out like anything else, so that all agree about what was drawn.
                return self.values.forget(tensor)
            host_kwargs["generator"] = self._generator
            assumed = reads.DRAWN
        if shape.is_out:
            shape.operator(*host_rest, **host_kwargs, out=blank)
        else:
            shape.operator(blank, *host_rest, **host_kwargs)
        self.values.put(tensor, blank, assumed)

    # Where values cross between the host and the card.

    def _copy(self, shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        to, source = args[0], args[1]
        from_card = getattr(source, "is_cuda", False)
        if to.is_cuda:
            result = run()
            self.aside(self._follow_copy, shape, args, kwargs, from_card)
            return result
        if not from_card:
            return run()
        values, assumed = self.known(source, may_only_log=True)
        if values is None:
            result = run()
        else:
            result = self.quietly(lambda: to.copy_(values))
            self._note(assumed)
        self.check()
        return result

    def known(self, tensor: Any, *, may_only_log: bool = False) -> tuple[Any, str | None]:
        """The values of a tensor of the card as one of the host, and what was assumed for them; nothing if nobody can
        say. What is read only to be shown is not worked out, and what is lost sight of only where that takes little."""
        values = self.quietly(lambda: self.values.of(tensor))
        assumed = None if values is None else self.values.assumed(tensor)
        if self.recorder is None or (values is not None and assumed in (None, reads.FINITE, reads.HELD)):
            return values, assumed
        fate = Fate.DECIDES
        if may_only_log and not self.recorder.is_inside():
            fate = self.reads.steering.fate(sys._getframe(2), may_divide=True)
        if fate is Fate.SHOWN:
            return values, assumed
        found = self.quietly(lambda: self.recorder.value(tensor, is_lost=fate is Fate.LOST))
        return (values, assumed) if found is None else (found, None)

    def _follow_copy(self, _shape: Shape, args: tuple[Any, ...], _kwargs: dict[str, Any], from_card: bool) -> None:
        to, source = args[0], args[1]
        most = MOST_FLOATS_FROM_HOST if not from_card else None
        may_keep = self.values.may_keep(to, most) if most else self.values.may_keep(to)
        values = (self.values.of(source) if from_card else source) if may_keep else None
        if values is None:
            self.values.forget(to)
        elif isinstance(values, _NUMBERS):
            self.values.put(to, self.full(to, values))
        else:
            self.values.put(to, values, self.values.assumed(source) if from_card else None)

    def _read(self, _shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], _kwargs: dict[str, Any]) -> Any:
        tensor = args[0]
        if not tensor.is_cuda:
            return run()
        values, assumed = self.known(tensor, may_only_log=True)
        result = self._from_earlier(tensor, values, assumed)
        if result is not None:
            self.reads.note(reads.EARLIER)
        elif values is None:
            result = run()
        else:
            result = self.quietly(values.item)
            self._note(assumed)
        self.check()
        return result

    def _from_earlier(self, tensor: Any, values: Any, assumed: str | None) -> bool | None:
        """Whether something is true, where that could be worked out earlier and no longer can; what can be is kept."""
        if self.recorder is None or tensor.dtype != self.torch.bool:
            return None
        frame = reading(sys._getframe(2))
        if frame is None:
            return None
        if values is None or assumed not in (None, reads.FINITE):
            return self.answers.expected(frame)
        self.answers.note(frame, bool(self.quietly(values.item)))
        return None

    def _note(self, assumed: str | None) -> None:
        if assumed is not None:
            self.reads.note(assumed)

    def quietly(self, act: Callable[[], Any]) -> Any:
        self._busy.is_on = True
        try:
            return act()
        finally:
            self._busy.is_on = False

    def _is_all_true(self, shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Asserts: what is asked here is meant to hold."""
        result = run()
        is_known = self.quietly(lambda: self.values.of(args[0])) is not None and not self.values.assumed(args[0])
        if result.is_cuda and not is_known:
            self.quietly(lambda: self.values.put(result, self.full(result, True), reads.FINITE))
        return result

    def _check_errors(self, _shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], _kwargs: dict[str, Any]) -> Any:
        """Factorizations are taken to succeed."""
        codes = args[0]
        if codes.is_cuda and self.quietly(lambda: self.values.of(codes)) is None:
            self.quietly(lambda: self.values.put(codes, self.full(codes, 0), reads.FINITE))
        return run()

    def _isnan(self, _shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], _kwargs: dict[str, Any]) -> Any:
        result = run()
        if result.is_cuda and self.values.may_keep(result):
            self.quietly(lambda: self.values.put(result, self.full(result, False), reads.FINITE))
        return result

    def _unscale(self, _shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], _kwargs: dict[str, Any]) -> Any:
        """Gradients are taken as finite: what was found so far stays."""
        result = run()
        if args[1].is_cuda:
            self.values.written(args[1])
        return result

    # Arithmetic.

    def _wrap_arithmetic(self) -> None:
        torch = self.torch
        for method, name in _ARITHMETIC.items():
            original = getattr(torch.Tensor, method)
            setattr(torch.Tensor, method, self._arithmetic(original, getattr(torch.ops.aten, name)))
        for method, name in _ARITHMETIC_IN_PLACE.items():
            original = getattr(torch.Tensor, method)
            setattr(torch.Tensor, method, self._arithmetic_in_place(original, getattr(torch.ops.aten, name)))
        for owner in (torch.Tensor, torch):
            owner.isfinite = self._all_finite(owner.isfinite)
            # Made of others, among them a subtraction that is not Python's.
            owner.diff = self._arithmetic(owner.diff, torch.ops.aten.diff)

    def _arithmetic(self, original: Callable[..., Any], packet: Any) -> Callable[..., Any]:
        kept, plain = self.values, self.torch.Tensor
        stack_depth = self.torch._C._len_torch_dispatch_stack

        @functools.wraps(original)
        def method(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(tensor, *args, **kwargs)
            if type(result) is plain and result.is_cuda and kept.may_keep(result) and not stack_depth():
                self.aside(self._follow_arithmetic, Shape(packet), (tensor, *args), kwargs, result)
            return result

        return method

    def _follow_arithmetic(self, shape: Shape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        known = self.host_arguments(args, kwargs)
        if known is not None:
            self.values.put(result, shape.operator(*known[0], **known[1]), known[2])

    def _arithmetic_in_place(self, original: Callable[..., Any], packet: Any) -> Callable[..., Any]:
        plain = self.torch.Tensor

        @functools.wraps(original)
        def method(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            known = None
            if type(tensor) is plain and tensor.is_cuda and self.values.of(tensor) is not None:
                known = self.host_arguments((tensor, *args), kwargs)
            result = original(tensor, *args, **kwargs)
            if known is not None:
                self.quietly(lambda: packet(*known[0], **known[1]))
                self.values.written(tensor)
            return result

        return method

    def _all_finite(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def function(tensor: Any) -> Any:
            result = original(tensor)
            if type(result) is self.torch.Tensor and result.is_cuda and self.values.may_keep(result):
                self.quietly(lambda: self.values.put(result, self.full(result, True), reads.FINITE))
            return result

        return function


class _Unknown(Exception):
    """A value that nobody knows."""
