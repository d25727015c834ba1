"""Works records out with the host's kernels, within bounds of time and memory."""

from __future__ import annotations

import collections
import itertools
import math
import os
import sys
import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .budget import Budget
from .host_kernels import HostKernels
from .nodes import Node, Record, Ref, flat, mapped

#: Rows and columns of the product by which the host's speed is judged until something was timed.
_TRIED_SIDE = 512
#: Work that says enough about the host's speed.
_TIMED_WORK = 1e10
#: Results below this size are not worth dropping.
_SMALL_BYTES = 1 << 16
_PROCESSORS = len(os.sched_getaffinity(0))


class Unknown(Exception):
    """A value that nobody can say."""


class Worker:
    """Executes records, each once."""

    def __init__(self, torch: ModuleType, budget: Budget, sweep: Callable[[], None]) -> None:
        self.torch, self.budget = torch, budget
        #: Lets go of what belongs to memory that the card has given back.
        self._sweep = sweep
        self.kernels = HostKernels(torch)
        #: Records worked out, reads answered, and what could not be, by name.
        self.done = self.answered = 0
        self.failed: collections.Counter[str] = collections.Counter()
        self._work, self._timed_seconds = 0.0, 0.0
        self._first_rate = 0.0
        #: Other threads that run on this machine, on average.
        self._others = 0.0
        #: Threads that work now.
        self._threads = 1
        #: Results in the order in which they were made, that can be dropped: those of graphs, and others. Weights that were
        #: made on the card are the oldest of all, and the last to be done without.
        self._results: tuple[collections.deque[weakref.ref[Node]], ...] = (collections.deque(), collections.deque())

    def value(self, ref: Ref, *, is_lost: bool = False) -> Any:
        """A tensor of the host that shares memory with what is kept; None if nobody can say, or not in time. Where it `is_lost`
        sight of what becomes of it, little time is given to it, and it may be asked for again."""
        node = ref.node
        if node is None:
            return None
        if node.data is None and node.made_by is not None:
            used_before = self.budget.used_seconds
            is_done = self._attempt_all(node, is_lost=is_lost)
            self.budget.lost_seconds += (self.budget.used_seconds - used_before) if is_lost else 0.0
            if not is_done:
                return None
        if node.data is None and node.made_by is None and node.is_known:
            node.data = self.blank(node.nbytes)
        if node.data is None:
            return None
        self.answered += 1
        return self.view(ref)

    def _attempt_all(self, node: Node, *, is_lost: bool) -> bool:
        """Works out what a node depends on, if that can be afforded."""
        start = time.thread_time()
        if is_lost and self.budget.left_seconds(is_lost=True) <= 0:
            return False
        needed = self._slice(node)
        is_affordable = self._is_affordable(needed, is_lost=is_lost)
        self.budget.used_seconds += time.thread_time() - start
        if is_affordable:
            self._work_out(needed)
        elif not is_lost:
            self.failed["too much work"] += 1
        return is_affordable

    def blank(self, nbytes: int) -> Any:
        """Zeros."""
        return self.torch.UntypedStorage(nbytes, device="cpu").fill_(0)

    def view(self, ref: Ref, data: Any = None) -> Any:
        """A tensor of the host as the card's lies in its storage."""
        data = ref.node.data if data is None and ref.node is not None else data
        empty = self.torch.ops.aten.empty.memory_format([0], dtype=ref.dtype, device="cpu")
        view = empty.set_(data, ref.offset, ref.size, ref.stride)
        view = view.conj() if ref.is_conj else view
        return view._neg_view() if ref.is_neg else view

    # What is to be done.

    def _slice(self, node: Node) -> dict[int, Record]:
        """The records that a node depends on and that were not worked out yet, by their number, the oldest first."""
        needed: dict[int, Record] = {}
        pending = [node.made_by]
        while pending:
            record = pending.pop()
            if record is None or record.at in needed:
                continue
            needed[record.at] = record
            pending.extend(ref.node.made_by for ref in record.refs() if ref.node is not None and ref.node.data is None)
        return dict(sorted(needed.items()))

    def _is_affordable(self, needed: dict[int, Record], *, is_lost: bool) -> bool:
        """Whether all of it can be done in the time that is left. What alone takes longer never can be, and nobody needs
        to look at it again: it is given up, and with it all that will be made of it."""
        if self.budget.is_full():
            return False
        left = self.budget.left_seconds(is_lost=is_lost)
        work = {at: work_of(record) for at, record in needed.items()}
        most = self._rate() * left
        if sum(work.values()) <= most:
            return True
        if is_lost:
            return False
        # At least what the longest chain of records that leads to it takes.
        chains: dict[int, float] = {}
        for at, record in needed.items():
            before = (ref.node.made_by for ref in record.refs() if ref.node is not None and ref.node.data is None)
            longest = max((chains.get(earlier.at, 0.0) for earlier in before if earlier is not None), default=0.0)
            chains[at] = work[at] + longest
        for at, record in [*needed.items()]:
            # The last one is what was asked for.
            if chains[at] > most or at == next(reversed(needed)):
                give_up(record)
        return False

    def _rate(self) -> float:
        """Arithmetic in a second: of what was worked out so far, or of a product until that says enough."""
        if self._work > _TIMED_WORK:
            return self._work / self._timed_seconds
        if not self._first_rate:
            square = self.torch.ops.aten.full([_TRIED_SIDE] * 2, 1.0, device="cpu")
            self.torch.ops.aten.mm(square, square)
            start = time.thread_time()
            self.torch.ops.aten.mm(square, square)
            self._first_rate = 2.0 * _TRIED_SIDE**3 / max(time.thread_time() - start, 1e-6)
        return self._first_rate

    def _work_out(self, needed: dict[int, Record]) -> None:
        """The oldest first; each record is let go of, so that what it needed can go too."""
        queue = [*reversed(needed.values())]
        needed.clear()
        start, threads = time.thread_time(), self.torch.get_num_threads()
        self._threads = min(threads, self._idle_processors())
        self.torch.set_num_threads(self._threads)
        try:
            while queue and self.budget.used_seconds + self._seconds_since(start) <= self.budget.seconds:
                record = queue.pop()
                if self.budget.is_crowded() and not self._make_room():
                    return
                self._execute(record)
        finally:
            self.torch.set_num_threads(threads)
            self.budget.used_seconds += self._seconds_since(start)

    def _seconds_since(self, start: float) -> float:
        """What all processors would have taken: this thread works as long as those that help it. At least half of the
        time counts, however many others are busy: somebody waits."""
        return (time.thread_time() - start) * max(self._threads / _PROCESSORS, 0.5)

    def _idle_processors(self) -> int:
        """How many there are for us: threads that wait for one another on a busy machine take many times as long."""
        with open("/proc/loadavg", encoding="ascii") as file:
            running = int(file.read().split()[3].partition("/")[0])
        # One of those that run is this thread; what runs now and then counts in part.
        self._others += (running - 1 - self._others) / 4
        return max(1, _PROCESSORS - round(self._others))

    # Doing it.

    def _execute(self, record: Record) -> None:
        self.done += 1
        try:
            self._attempt(record)
        except Exception as problem:  # noqa: BLE001 - whatever the host cannot do stays unknown
            give_up(record)
            if not isinstance(problem, Unknown):
                self.failed[f"{record.call.name}: {(str(problem).splitlines() or [''])[0][:100]}"] += 1
        record.clear()

    def _attempt(self, record: Record) -> None:
        over: dict[int, Any] = {}
        for before, after in record.written:
            node = after()
            over[id(before)] = self._bytes_to_write(before, node.nbytes if node is not None else before.nbytes)

        def of_ref(ref: Ref) -> Any:
            if ref.node is None:
                raise Unknown
            data = over.get(id(ref.node))
            return self.view(ref, self._bytes_of(ref.node) if data is None else data)

        device = self.torch.device("cpu")
        args = [mapped(mapped(arg, Ref, of_ref), self.torch.device, lambda _: device) for arg in record.args]
        kwargs = {
            name: mapped(mapped(value, Ref, of_ref), self.torch.device, lambda _: device)
            for name, value in record.kwargs.items()
        }
        work, start = work_of(record), time.thread_time()
        result = self.kernels.call(record, args, kwargs)
        self._work += work
        self._timed_seconds += self._seconds_since(start)
        for before, after in record.written:
            node = after()
            if node is not None:
                node.data, node.made_by = over[id(before)], None
        if record.outs:
            self._deliver(
                record, result, [*flat(args, self.torch.Tensor), *flat(list(kwargs.values()), self.torch.Tensor)]
            )

    def _bytes_of(self, node: Node) -> Any:
        if node.data is None:
            if node.made_by is not None or not node.is_known:
                raise Unknown
            node.data = self.blank(node.nbytes)
        return node.data

    def _bytes_to_write(self, before: Node, nbytes: int) -> Any:
        """The bytes to write over: the old ones where nobody else needs them."""
        old = self._bytes_of(before)
        if sys.getrefcount(before) <= _REFERENCES_OF_WRITING and old.nbytes() >= nbytes:
            return old
        new = self.blank(nbytes) if nbytes > old.nbytes() else self.torch.UntypedStorage(old.nbytes(), device="cpu")
        whole = self.torch.ops.aten.empty.memory_format([0], dtype=self.torch.uint8, device="cpu")
        source = self.torch.ops.aten.empty.memory_format([0], dtype=self.torch.uint8, device="cpu")
        count = old.nbytes()
        whole.set_(new, 0, [count], [1]).copy_(source.set_(old, 0, [count], [1]))
        return new

    def _deliver(self, record: Record, result: Any, given: list[Any]) -> None:
        """Puts results where the card's tensors have theirs."""
        shared = {tensor.untyped_storage()._cdata for tensor in given}
        written = {tensor.untyped_storage()._cdata for tensor in flat(result, self.torch.Tensor)} & shared
        found = [
            t
            for t in flat(result, self.torch.Tensor)
            if not record.written or t.untyped_storage()._cdata not in written
        ]
        for out, values in itertools.zip_longest(record.outs, found):
            node = out[0]() if out else None
            if node is None:
                continue
            ref, node.made_by = out[1], None
            if values is None:
                continue
            if values.size() != ref.size:
                node.is_known = False
                self.failed[f"{record.call.name}: another size on the host"] += 1
                continue
            storage = values.untyped_storage()
            lies_alike = values.stride() == ref.stride and values.storage_offset() == ref.offset
            if (
                lies_alike
                and values.dtype == ref.dtype
                and storage.nbytes() == node.nbytes
                and storage._cdata not in shared
            ):
                node.data = storage
            else:
                is_covered = values.numel() * ref.dtype.itemsize == node.nbytes
                node.data = (
                    self.torch.UntypedStorage(node.nbytes, device="cpu") if is_covered else self.blank(node.nbytes)
                )
                self.view(ref, node.data).copy_(values)
            if node.nbytes >= _SMALL_BYTES:
                self._results[not node.is_of_graph].append(weakref.ref(node))

    def _make_room(self) -> bool:
        """Lets go of what nobody can ask for, and then of what may not be asked for; whether anything is left."""
        self._sweep()
        if self.budget.is_crowded():
            self._drop_results()
        return not self.budget.is_full()

    def _drop_results(self) -> None:
        """Lets go of results that nothing written down needs: those the card keeps for gradients first, the oldest first."""
        for results in self._results:
            for _ in range(len(results)):
                reference = results.popleft()
                node = reference()
                if node is None or node.data is None:
                    continue
                if sys.getrefcount(node) <= _REFERENCES_OF_CARD:
                    node.data, node.is_known = None, False
                    if not self.budget.is_crowded():
                        return
                else:
                    results.append(reference)


def give_up(record: Record) -> None:
    """What the record makes is not known, and what it needs may go."""
    for node in record.made():
        node.is_known, node.made_by = False, None
    record.clear()


def work_of(record: Record) -> float:
    """Roughly the arithmetic that a record takes."""
    refs = list(record.refs())
    made = sum(math.prod(out[1].size) for out in record.outs if out) or sum(math.prod(ref.size) for ref in refs[:1])
    name = record.call.name
    if name == "convolution" and len(refs) > 1:
        return 2.0 * made * math.prod(refs[1].size[1:])
    if name == "convolution_backward" and len(refs) > 2:
        return 4.0 * math.prod(refs[0].size) * math.prod(refs[2].size[1:])
    if name in ("mm", "addmm", "bmm", "baddbmm", "addbmm") and refs:
        return 2.0 * made * refs[-1].size[-2]
    if "attention" in name and len(refs) > 1:
        return 4.0 * made * refs[1].size[-2]
    return 20.0 * made


def _measured_references() -> tuple[int, int]:
    """How many references a node has that only one record, or only the card's table, holds: Python's own are not the
    same in every version."""
    held = {0: Node(0)}
    node = held[0]
    of_card = sys.getrefcount(node)
    ref = Ref.__new__(Ref)
    ref.node = held.pop(0)
    written = [(ref.node, None)]
    del node

    def count(before: Node, _nbytes: int) -> int:
        return sys.getrefcount(before)

    for before, _ in written:
        of_writing = count(before, 0)
    return of_writing, of_card


_REFERENCES_OF_WRITING, _REFERENCES_OF_CARD = _measured_references()
