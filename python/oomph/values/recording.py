"""Writes down what is called on the card, and answers what a tensor of it holds."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import threading
import weakref
from collections.abc import Callable, Iterator
from time import thread_time
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..hollow.operators import takes_tensors
from ..watching import imports, snapshots
from ..watching.reaching import begin_of
from .budget import Budget
from .collector import Unnoticed
from .nodes import Call, Node, Record, Ref, flat, mapped
from .working import Worker

if TYPE_CHECKING:
    from ..hollow.following import Following
    from ..hollow.values import Values

#: Made of others that are written down themselves, or without values.
_LEFT_OUT = frozenset(
    """clone _to_copy detach alias lift lift_fresh set_ record_stream pin_memory _pin_memory _fused_sdp_choice
    _resize_output_ _reshape_alias _cudnn_init_dropout_state _local_scalar_dense is_pinned""".split()
)
_LEFT_OUT_BEGINNINGS = ("new_", "empty", "sym_", "_sparse", "sparse", "_nested")
#: Read the card themselves, and what they read is made by others before: those are written down too.
_SEEN_THROUGH = frozenset("bincount repeat_interleave equal _ctc_loss".split())
#: Give other memory to a tensor, or leave its values to chance.
_RESIZING = frozenset(("resize_", "resize_as_"))
#: Numbers as tensors of the card cannot pass through Python there.
_IMPASSABLE = frozenset(("aten::pow.Tensor_Tensor_out",))
#: Records between two looks at what the allocator has taken back, at least.
_SWEEP_RECORDS = 5000
#: And where memory is short.
_SWEEP_RECORDS_SHORT = 100


class Recorder:
    """What each storage of the card holds, by its address there."""

    def __init__(self, budget: Budget, *, has_updates: bool) -> None:
        self.budget = budget
        #: Whether gradients and updates of weights are written down too.
        self.has_updates = has_updates
        self.count = 0
        #: Whether the time for values has been spent.
        self.is_over = False
        self._table: dict[int, Node] = {}
        self._unknown = Node(0, is_known=False)
        #: Not known only because gradients and updates are not written down, and how often something was decided by it.
        self._left_out = Node(0, is_known=False)
        self._left_out_reads = 0
        self._weights: set[int] = set()
        #: How many records there were when that was last looked at.
        self._swept = 0
        self._state = threading.local()
        self.unnoticed = Unnoticed()

    def install(self, torch: ModuleType, values: Values) -> None:
        """Gets ready: operators are handed in one by one, see `around`. `values` are those that are known anyway."""
        self.torch, self.values = torch, values
        self.worker = Worker(torch, self.budget, self._sweep_soon)
        self.unnoticed.install()
        self._graph_task = torch._C._current_graph_task_id
        self._seeded = torch.Tag.nondeterministic_seeded
        self._lie_apart = getattr(ctypes.CDLL(None), "oomph_hollow_aside", lambda _: 0)
        if not self.has_updates:
            optimizer = importlib.import_module("torch.optim.optimizer")
            optimizer.register_optimizer_step_pre_hook(self._before_step)
            optimizer.register_optimizer_step_post_hook(lambda *_: self._weights.clear())

    def _before_step(self, optimizer: Any, *_: Any) -> None:
        weights = (weight for group in optimizer.param_groups for weight in group["params"])
        self._weights = {self._address(weight) for weight in weights if weight.is_cuda}

    def account(self) -> dict[str, Any]:
        """What working out took, and what could not be."""
        worker, budget = getattr(self, "worker", None), self.budget
        return {
            "updates": self.has_updates,
            "records": self.count,
            "worked_out": worker.done if worker else 0,
            "answered": worker.answered if worker else 0,
            "failed": dict(worker.failed.most_common(10)) if worker else {},
            "left_out": self._left_out_reads,
            "seconds": round(budget.used_seconds, 2),
            "recording_seconds": round(budget.recording_seconds, 3),
            "most_host_bytes": max(budget.most_bytes, budget.resident_bytes()),
        }

    def _end(self) -> None:
        """There is no time left: nothing is written down any more, and nothing is known. A plan comes to its end as fast
        as one without values."""
        self.is_over = True
        self._table.clear()

    # Which operators.

    def wants(self, full_name: str) -> bool:
        """Whether an operator of the dispatcher is to be written down."""
        space, _, name = full_name.partition("::")
        base = name.partition(".")[0]
        if space not in ("aten", "torchvision") or base in _LEFT_OUT or full_name in _IMPASSABLE:
            return False
        if base.startswith(_LEFT_OUT_BEGINNINGS) or base.endswith("_like"):
            return False
        operator = _operator(self.torch, full_name)
        returns = operator._schema.returns
        is_view = any(part.alias_info is not None and not part.alias_info.is_write for part in returns)
        has_effect = bool(Call(operator, self._seeded).places) or any("Tensor" in str(part.type) for part in returns)
        return has_effect and not is_view

    def around(self, operator: Any, run: Callable[..., Any]) -> Callable[..., Any]:
        """The operator's own code, with a record of the call where it is the outermost."""
        call, state, kind = Call(operator, self._seeded), self._state, self.torch.Tensor
        if not self.wants(_full_name(operator)) and call.name not in ("clone",):
            return run
        is_opaque = call.name not in _SEEN_THROUGH

        def recorded(keyset: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if self.is_over or getattr(state, "inside", None) is not None:
                return run(keyset, args, kwargs)
            tensors = [*flat(args, kind), *flat(list(kwargs.values()), kind)]
            if not any(tensor.is_cuda for tensor in tensors):
                return run(keyset, args, kwargs)
            if is_opaque:
                state.inside = {self._address(tensor) for tensor in tensors if tensor.is_cuda}
            state.is_seen_through = not is_opaque
            try:
                result = run(keyset, args, kwargs)
            finally:
                state.inside, state.is_seen_through = None, False
            start = thread_time()
            with self.unnoticed:
                self._write_down(call, args, kwargs, result, tensors)
                self.budget.recording_seconds += thread_time() - start
                if self.budget.is_spent():
                    self._end()
            return result

        return recorded

    def install_others(self, following: Following) -> None:
        """Writes down what is not followed anyway."""
        self._libraries = {"aten": following.library}
        for full_name in self.torch._C._dispatch_get_all_op_names():
            self._install_one(full_name, following)
        imports.after_import("torchvision", lambda _: self._install_torchvision(following))

    def _install_torchvision(self, following: Following) -> None:
        self._libraries["torchvision"] = self.torch.library.Library("torchvision", "IMPL")
        for full_name in self.torch._C._dispatch_get_all_op_names():
            if full_name.startswith("torchvision::"):
                self._install_one(full_name, following)

    def _install_one(self, full_name: str, following: Following) -> None:
        space, _, name = full_name.partition("::")
        if space not in self._libraries or not following.is_whole(full_name) or not self.wants(full_name):
            return
        operator = _operator(self.torch, full_name)
        if not takes_tensors(operator):
            return
        run = self._forgetting(operator, following.runner(operator))
        act = self._suppressing(following, run) if full_name == "torchvision::nms" else run

        def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
            return act(keyset, args, kwargs)

        self._libraries[space].impl(name, kernel, "BackendSelect", with_keyset=True)

    def _forgetting(self, operator: Any, run: Callable[..., Any]) -> Callable[..., Any]:
        """What is written by operators that are not followed is not known any longer, but for what is written down."""
        call, kind = Call(operator, self._seeded), self.torch.Tensor
        if not call.places and not call.outs:
            return run

        def act(keyset: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            result = run(keyset, args, kwargs)
            for tensor in call.written(args, kwargs, kind):
                if tensor.is_cuda:
                    self.values.forget(tensor)
            return result

        return act

    def _suppressing(self, following: Following, run: Callable[..., Any]) -> Callable[..., Any]:
        """Non-maximum suppression selects what it has kept, by a mask of its own."""

        def act(keyset: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not args[0].is_cuda:
                return run(keyset, args, kwargs)
            boxes, scores = (following.known(tensor)[0] for tensor in args[:2])
            if boxes is None or scores is None:
                return run(keyset, args, kwargs)
            with self._aside():
                kept = self.torch.ops.torchvision.nms(boxes, scores, args[2])
            with following.sizes.picking(kept.numel()):
                return run(keyset, args, kwargs)

        return act

    # Which values.

    def is_inside(self) -> bool:
        """Whether an operator runs, whose own reads decide about its result."""
        return getattr(self._state, "inside", None) is not None or getattr(self._state, "is_seen_through", False)

    def value(self, tensor: Any, *, is_lost: bool = False) -> Any:
        """The values of a tensor of the card as one of the host; None if nobody can say, or not in time. Where it `is_lost`
        sight of what becomes of them, not much time is given to that."""
        inside = getattr(self._state, "inside", None)
        if not self._is_plain(tensor) or (inside is not None and self._address(tensor) not in inside):
            return None
        node = self._table.get(self._address(tensor))
        if tensor.numel() == 0:
            node = Node(0)
        if node is None or not node.is_known or node.nbytes < _reach_bytes(tensor):
            self._left_out_reads += node is self._left_out
            return None
        with self.unnoticed, self._aside():
            if self.count > self._swept + _SWEEP_RECORDS:
                start = thread_time()
                self._sweep()
                self.budget.recording_seconds += thread_time() - start
            return self.worker.value(Ref(node, tensor), is_lost=is_lost)

    def forget(self, tensor: Any) -> None:
        """Nobody knows any longer what the tensor holds."""
        if not self.is_over and self._is_plain(tensor):
            self._table[self._address(tensor)] = self._unknown

    def forget_all(self) -> None:
        """Nobody knows anything any longer."""
        self._table = dict.fromkeys(self._table, self._unknown)

    @contextlib.contextmanager
    def _aside(self) -> Iterator[None]:
        """Work of the host's, which nobody watches, in memory apart from the script's: where its large blocks lie decides
        about where the card's do."""
        before, self._state.inside = getattr(self._state, "inside", None), set()
        library = self.torch._C
        was_apart = self._lie_apart(1)
        try:
            with library._AutoDispatchBelowAutograd(), library.DisableTorchFunction():
                yield
        finally:
            self._lie_apart(was_apart)
            self._state.inside = before

    # Writing down.

    def _is_plain(self, tensor: Any) -> bool:
        return self.torch._C._has_storage(tensor) and tensor.layout == self.torch.strided

    def _address(self, tensor: Any) -> int:
        """Where the storage begins on the card. A Python object of the storage would count as another user of it, and
        autograd would no longer add gradients in place."""
        if not tensor.numel() or not self._is_plain(tensor):
            return -1
        return begin_of(tensor)

    def _write_down(self, call: Call, args: Any, kwargs: Any, result: Any, tensors: list[Any]) -> None:
        """The call as a record; the storages it wrote or made hold what it gives."""
        kind = self.torch.Tensor
        results = list(flat(result, kind))
        if not all(map(self._is_plain, (*tensors, *results))):
            return self._lose(tensor for tensor in results if tensor.is_cuda and self._is_plain(tensor))
        written = [tensor for tensor in call.written(args, kwargs, kind) if tensor.is_cuda]
        given = {self._address(tensor) for tensor in tensors if tensor.is_cuda}
        made = [tensor for tensor in results if not tensor.is_cuda or self._address(tensor) not in given]
        if not written and not any(tensor.is_cuda for tensor in made):
            return
        for tensor in made:
            # Made by filling, inside, before the values came.
            self.values.forget(tensor)
        changed = [tensor for tensor in (*written, *made) if tensor.is_cuda]
        if not self.has_updates:
            if any(self._address(tensor) in self._weights for tensor in written):
                # Weights stay as they were drawn.
                kept = self._weights
                return self._lose([tensor for tensor in changed if self._address(tensor) not in kept], self._left_out)
            if self._graph_task() != -1 and not self.torch.is_grad_enabled() and not self._counts(changed):
                return self._lose(changed, self._left_out)
        if call.name in _RESIZING:
            return self._lose(changed)
        self.count += 1
        with self._aside():
            if call.name == "copy_" and self._take_from_host(args):
                return None
            record = self._record(call, args, kwargs, written)
        if record is None:
            depends_on_left_out = any(self._table.get(self._address(tensor)) is self._left_out for tensor in tensors)
            return self._lose(changed, self._left_out if depends_on_left_out else None)
        is_of_graph = self.torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
        self._bind(record, made, is_of_graph=is_of_graph)
        return None

    def _counts(self, changed: list[Any]) -> bool:
        """Whether a step of the backward pass gives truth values or whole numbers: some look for zeros in the forward
        pass's tensors and go on accordingly. What they take from gradients is not known all the same."""
        return not any(tensor.dtype.is_floating_point or tensor.dtype.is_complex for tensor in changed)

    def _lose(self, tensors: Any, why: Node | None = None) -> None:
        for tensor in tensors:
            self._table[self._address(tensor)] = why or self._unknown

    def _take_from_host(self, args: tuple[Any, ...]) -> bool:
        """Whole tensors that come from the host need no record: their bytes are all there is to know."""
        to, source = args[0], args[1]
        if not isinstance(source, self.torch.Tensor) or source.is_cuda or not to.numel():
            return False
        if self.budget.is_full():
            self._sweep_soon()
            if self.budget.is_full():
                self._table[self._address(to)] = self._unknown
                return True
        if not _covers(to, self._table.get(self._address(to))):
            return False
        node = Node(_reach_bytes(to))
        node.data = self.worker.blank(node.nbytes)
        self.worker.view(Ref(node, to)).copy_(source)
        self._table[self._address(to)] = node
        return True

    def _record(self, call: Call, args: Any, kwargs: Any, written: list[Any]) -> Record | None:
        """The call with nodes for tensors; none if it depends on what nobody knows."""
        refs: dict[int, Ref] = {}
        is_known = True
        over = {id(tensor) for tensor in written}

        def of_tensor(tensor: Any) -> Any:
            nonlocal is_known
            if not tensor.is_cuda:
                return tensor.detach().clone()
            ref = refs.get(id(tensor))
            if ref is None:
                node = self._table.get(self._address(tensor)) if tensor.numel() else Node(0)
                is_written = id(tensor) in over
                if node is None or (call.is_overwriting and is_written and _covers(tensor, node)):
                    # What was never written is of no interest, unless it is read.
                    is_known &= is_written
                    node = Node(_reach_bytes(tensor))
                is_known &= node.is_known and (is_written or node.nbytes >= _reach_bytes(tensor))
                ref = refs[id(tensor)] = Ref(node, tensor)
            return ref

        kind = self.torch.Tensor
        new_args = [mapped(arg, kind, of_tensor) for arg in args]
        new_kwargs = {name: mapped(value, kind, of_tensor) for name, value in kwargs.items()}
        if not is_known:
            return None
        record = Record(self.count, call, new_args, new_kwargs)
        for tensor in written:
            before = refs[id(tensor)].node
            if before is not None and not any(other is before for other, _ in record.written):
                node = Node(max(before.nbytes, _reach_bytes(tensor)), record)
                record.written.append((before, weakref.ref(node)))
                self._table[self._address(tensor)] = node
        return record

    def _bind(self, record: Record, made: list[Any], *, is_of_graph: bool) -> None:
        for tensor in made:
            if not tensor.is_cuda:
                record.outs.append(None)
                continue
            node = Node(_reach_bytes(tensor), record)
            node.is_of_graph = is_of_graph
            record.outs.append((weakref.ref(node), Ref(None, tensor)))
            self._table[self._address(tensor)] = node

    def _sweep_soon(self) -> None:
        """Memory is short: what the card has given back goes now, but is not looked for all the time."""
        if self.count > self._swept + _SWEEP_RECORDS_SHORT:
            self._sweep()

    def _sweep(self) -> None:
        """Drops what belongs to memory that was given back: the allocator knows."""
        live = set()
        for segment in snapshots.segments(self.torch):
            address = segment["address"]
            for block in segment["blocks"]:
                if block["state"].startswith("active"):
                    live.add(address)
                address += block["size"]
        self._table = {address: node for address, node in self._table.items() if address in live}
        self._swept = self.count


def _operator(torch: ModuleType, full_name: str) -> Any:
    space, _, name = full_name.partition("::")
    base, _, overload = name.partition(".")
    return getattr(getattr(getattr(torch.ops, space), base), overload or "default")


def _full_name(operator: Any) -> str:
    overload = operator._schema.overload_name
    return str(operator._schema.name) + (f".{overload}" if overload else "")


def _reach_bytes(tensor: Any) -> int:
    """Up to which byte of its storage the tensor reaches."""
    if not tensor.numel():
        return 0
    last = tensor.storage_offset() + sum((n - 1) * step for n, step in zip(tensor.size(), tensor.stride(), strict=True))
    return int((last + 1) * tensor.element_size())


def _covers(tensor: Any, node: Node | None) -> bool:
    """Whether nothing of what a storage held is left once the tensor was written. A tensor that is no view has its storage
    to itself: what is longer belongs to one that lay at the same address before, and was given back. (Views that are made
    in inference mode do not know that they are.)"""
    if not _is_dense(tensor):
        return False
    is_longer = node is not None and node.nbytes > tensor.numel() * tensor.element_size()
    return not is_longer or not (tensor._is_view() or tensor.is_inference())


def _is_dense(tensor: Any) -> bool:
    """Whether the tensor covers its storage from the beginning without gaps."""
    return bool(tensor.storage_offset() == 0 and _reach_bytes(tensor) == tensor.numel() * tensor.element_size())
