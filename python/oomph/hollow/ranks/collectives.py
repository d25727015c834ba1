"""What the other ranks are taken to have said, where a script goes by it: as much as this one, and the same.

The assumption is written down as an operator on the card, which does nothing there; whoever follows or works out values
then knows the result as that of any other operator.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...watching import imports

Replace = Callable[[str, Any, Any], None]

#: Counts and sizes are no longer than this.
_SMALL_BYTES = 1 << 16


class Assumed:
    """Collectives whose results are numbers that a script may read."""

    def __init__(self, following: Any, note: Callable[[str], None]) -> None:
        self.following = following
        self.note = note

    def install(self, core: ModuleType, replace: Replace) -> None:
        """Stands around them."""
        self.torch = core.torch
        pairs: dict[str, tuple[str, str]] = {
            "all_to_all_single": ("output", "input"),
            "all_to_all": ("output_tensor_list", "input_tensor_list"),
            "all_gather": ("tensor_list", "tensor"),
            "all_gather_into_tensor": ("output_tensor", "input_tensor"),
        }
        for name, (to, of) in pairs.items():
            original = getattr(core, name)
            replace(name, original, self._around(original, to, of))
        reduce = core.all_reduce
        replace("all_reduce", reduce, self._around_reduce(reduce, core))
        imports.after_import("torch.distributed._functional_collectives", self._watch_functional)

    def _around(self, original: Callable[..., Any], to: str, of: str) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            asked = signature.bind(*args, **kwargs).arguments
            self.following.forget_arguments(asked[to])
            self._say(asked[to], asked[of])
            return result

        return call

    def _around_reduce(self, original: Callable[..., Any], core: ModuleType) -> Callable[..., Any]:
        signature = inspect.signature(original)
        same = (core.ReduceOp.MAX, core.ReduceOp.MIN, core.ReduceOp.AVG)

        @functools.wraps(original)
        def all_reduce(*args: Any, **kwargs: Any) -> Any:
            asked = signature.bind(*args, **kwargs)
            asked.apply_defaults()
            tensor, how = asked.arguments["tensor"], asked.arguments["op"]
            result = original(*args, **kwargs)
            if how == core.ReduceOp.SUM and self._is_of_interest(tensor):
                with self.torch.no_grad():
                    tensor.mul_(core.get_world_size(asked.arguments["group"]))
            elif how not in same or not self._is_of_interest(tensor):
                self.following.forget_arguments(tensor)
            return result

        return all_reduce

    def _watch_functional(self, module: ModuleType) -> None:
        """The functions that return what they received, wrapped until it is asked for."""
        for name in ("all_to_all_single", "all_to_all_single_autograd"):
            original = getattr(module, name, None)
            if original is not None:
                setattr(module, name, self._around_functional(original))

    def _around_functional(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling = self.torch.compiler.is_compiling

        @functools.wraps(original)
        def call(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(tensor, *args, **kwargs)
            if not is_compiling():
                self._say(getattr(result, "elem", result), tensor)
            return result

        return call

    def _say(self, to: Any, of: Any) -> None:
        """Every other rank sends as much as this one, and the same."""
        if isinstance(to, (list, tuple)):
            for at, part in enumerate(to):
                self._say(part, of[at] if isinstance(of, (list, tuple)) else of)
        elif self._is_of_interest(to) and self._is_of_interest(of) and of.numel() and to.numel() % of.numel() == 0:
            if self.following.recorder is not None and self._is_count(of):
                self._work_out(of)
            with self.torch.no_grad():
                to.detach().view(-1, of.numel()).copy_(of.detach().reshape(1, -1).expand(to.numel() // of.numel(), -1))

    def _is_of_interest(self, tensor: Any) -> bool:
        """Whether a script may go by its values: small whole numbers, or anything where values are worked out."""
        is_plain = type(tensor) in (self.torch.Tensor, self.torch.nn.Parameter)
        if not is_plain or not tensor.is_cuda or not tensor.is_contiguous():
            return False
        return self.following.recorder is not None or self._is_count(tensor)

    def _is_count(self, tensor: Any) -> bool:
        is_whole = not tensor.is_floating_point() and not tensor.is_complex()
        return is_whole and tensor.numel() * tensor.element_size() <= _SMALL_BYTES

    def _work_out(self, counts: Any) -> None:
        """Numbers that ranks tell one another are sizes of what comes next, wherever the script reads them."""
        found, assumed = self.following.known(counts)
        if found is not None:
            self.following.values.put(counts, found, assumed)
            self.note("where ranks exchange counts, those that were not run were taken to send as much as they get")
