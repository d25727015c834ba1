"""Carries what ranks read on the host, objects and small whole numbers, between the processes of a plan.

The tensors themselves are never carried: on a card without values there is nothing in them. What PyTorch allocates on
the way is allocated here too.
"""

from __future__ import annotations

import functools
import inspect
import pickle
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...watching import imports
from .alone import NobodyThere, place_of_caller
from .peers import Peers
from .post import EVERYBODY, Post

Replace = Callable[[str, Any, Any], None]

#: Sizes and flags are no longer than this.
_SMALL_BYTES = 4096


class Exchange:
    """PyTorch's functions that send and receive, with what is carried beside them."""

    def __init__(self, post: Post, peers: Peers, following: Any) -> None:
        self.post = post
        self.peers = peers
        self.following = following
        self._batch = threading.local()

    def install(self, core: ModuleType, replace: Replace) -> None:
        """Stands in their places."""
        self.core = core
        self.torch = core.torch
        for name in ("send_object_list", "recv_object_list", "broadcast_object_list", "scatter_object_list"):
            original = getattr(core, name)
            replace(name, original, self._bound(original, getattr(self, f"_{name}")))
        for name in ("send", "isend", "recv", "irecv"):
            original = getattr(core, name)
            around = self._around_send if "send" in name else self._around_receive
            replace(name, original, self._bound(original, around))
        batch = core.batch_isend_irecv
        replace("batch_isend_irecv", batch, functools.wraps(batch)(functools.partial(self._in_batch, batch)))
        imports.after_import("torch.distributed.pipelining.stage", self._start_stages)

    def _bound(self, original: Callable[..., Any], act: Callable[..., Any]) -> Callable[..., Any]:
        """Arguments have other places in other versions of torch: they are known by their names."""
        signature = inspect.signature(original)

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            asked = signature.bind(*args, **kwargs)
            asked.apply_defaults()
            return act(lambda: original(*args, **kwargs), asked.arguments)

        return call

    # Who is meant

    def _peer(self, asked: dict[str, Any], name: str) -> int | None:
        """The number in the job of whom a call names, by that or by the number in a group."""
        if asked.get(name) is not None:
            return int(asked[name])
        in_group = asked.get(f"group_{name}")
        if in_group is None:
            return None
        group = asked.get("group") or self.core._get_default_group()
        return int(self.core.get_global_rank(group, in_group))

    def _sender(self, asked: dict[str, Any]) -> int:
        peer = self._peer(asked, "src")
        if peer is None:
            raise NobodyThere(f"{place_of_caller()} receives from any process, and nobody knows which comes first")
        return peer

    def _channel(self, kind: str, group: Any, tag: int = 0) -> str:
        name = (group or self.core._get_default_group()).group_name
        return f"{kind}.{''.join(letter if letter.isalnum() else '_' for letter in str(name))}.{tag}"

    def _start_stages(self, module: ModuleType) -> None:
        """Every process of a pipeline's group is a stage of its own, and the stages tell one another their shapes."""
        base = module._PipelineStageBase
        original = base.__init__

        @functools.wraps(original)
        def __init__(stage: Any, *args: Any, **kwargs: Any) -> None:
            original(stage, *args, **kwargs)
            self.peers.start(self.core.get_process_group_ranks(stage.group))

        base.__init__ = __init__

    # Objects

    def _send_object_list(self, run: Callable[[], None], asked: dict[str, Any]) -> None:
        peer = self._peer(asked, "dst")
        if peer is not None:
            self.peers.start([peer])
            pieces = [pickle.dumps(thing) for thing in asked["object_list"]]
            self.post.send(peer, self._channel("objects", asked["group"]), pieces)
        run()

    def _recv_object_list(self, _run: Callable[[], int], asked: dict[str, Any]) -> int:
        sender, group = self._sender(asked), asked["group"]
        self.peers.start([sender])
        pieces = self.post.receive(sender, self.post.rank, self._channel("objects", group))
        device = asked.get("device") or self.core._get_object_coll_device(group or self.core._get_default_group())
        for count, dtype in ((len(pieces), self.torch.long), (sum(map(len, pieces)), self.torch.uint8)):
            self._receive_nothing(self.torch.empty(count, dtype=dtype, device=device), sender, asked)
        _fill(asked["object_list"], pieces)
        return sender

    def _receive_nothing(self, tensor: Any, sender: int, asked: dict[str, Any]) -> None:
        """As PyTorch does when it receives objects: its first message is their sizes, its second what they are."""
        self._batch.is_on = True
        try:
            if asked.get("use_batch"):
                operation = self.core.P2POp(self.core.irecv, tensor, sender, group=asked["group"])
                self.core.batch_isend_irecv([operation]).pop().wait()
            else:
                self.core.recv(tensor, src=sender, group=asked["group"])
        finally:
            self._batch.is_on = False

    def _broadcast_object_list(self, _run: Callable[[], None], asked: dict[str, Any]) -> None:
        objects, source = asked["object_list"], self._peer(asked, "src") or 0
        channel = self._channel("broadcast", asked["group"])
        if source == self.post.rank:
            self._to_everybody(channel, [pickle.dumps(thing) for thing in objects])
        elif self.post.is_known(source) or any(thing is None for thing in objects):
            self.peers.start([source])
            _fill(objects, self.post.receive(source, EVERYBODY, channel))

    def _scatter_object_list(self, _run: Callable[[], None], asked: dict[str, Any]) -> None:
        received, things = asked["scatter_object_output_list"], asked.get("scatter_object_input_list")
        source, channel = self._peer(asked, "src") or 0, self._channel("scatter", asked["group"])
        place = self.core.get_rank(asked["group"])
        if source == self.post.rank:
            self._to_everybody(channel, [pickle.dumps(thing) for thing in things])
            received[0] = things[place]
        else:
            self.peers.start([source])
            received[0] = pickle.loads(self.post.receive(source, EVERYBODY, channel)[place])  # noqa: S301

    def _to_everybody(self, channel: str, pieces: list[bytes]) -> None:
        if self.peers.world_size > 1:
            self.post.send(EVERYBODY, channel, pieces)

    # Sizes and flags

    def _is_small(self, tensor: Any) -> bool:
        if getattr(self._batch, "is_on", False) or tensor.is_floating_point() or tensor.is_complex():
            return False
        return 0 < tensor.numel() * tensor.element_size() <= _SMALL_BYTES

    def _around_send(self, run: Callable[[], Any], asked: dict[str, Any]) -> Any:
        tensor, peer = asked["tensor"], self._peer(asked, "dst")
        if peer is not None and self._is_small(tensor):
            self._carry(tensor, peer, self._channel("numbers", asked["group"], asked["tag"]))
        return run()

    def _around_receive(self, run: Callable[[], Any], asked: dict[str, Any]) -> Any:
        tensor = asked["tensor"]
        result = run()
        self.following.forget_arguments(tensor)
        if not self._is_small(tensor):
            return result
        sender, channel = self._sender(asked), self._channel("numbers", asked["group"], asked["tag"])
        later = getattr(self._batch, "received", None)
        if later is not None:
            later.append((tensor, sender, channel))
            return result
        if hasattr(result, "wait"):
            return _Arriving(result, lambda: self._fetch(tensor, sender, channel))
        self._fetch(tensor, sender, channel)
        return result

    def _in_batch(self, batch: Callable[..., Any], operations: list[Any]) -> Any:
        """All that is sent goes before anything is waited for."""
        self._batch.received = received = []
        try:
            result = batch(operations)
        finally:
            self._batch.received = None
        for tensor, sender, channel in received:
            self._fetch(tensor, sender, channel)
        return result

    def _carry(self, tensor: Any, peer: int, channel: str) -> None:
        known = self.following.values.of(tensor) if tensor.is_cuda else tensor
        self.peers.start([peer])
        self.post.send(peer, channel, None if known is None else known.detach().clone().tolist())

    def _fetch(self, tensor: Any, sender: int, channel: str) -> None:
        self.peers.start([sender])
        numbers = self.post.receive(sender, self.post.rank, channel)
        if numbers is None:
            return
        found = self.torch.tensor(numbers, dtype=tensor.dtype).view(tensor.shape)
        if tensor.is_cuda:
            self.following.values.put(tensor, found)
        else:
            tensor.copy_(found)


class _Arriving:
    """Work that is done once what was sent is there."""

    def __init__(self, work: Any, arrive: Callable[[], None]) -> None:
        self._work = work
        self._arrive: Callable[[], None] | None = arrive

    def wait(self, *args: Any, **kwargs: Any) -> Any:
        """Waits for the tensor."""
        result = self._work.wait(*args, **kwargs)
        arrive, self._arrive = self._arrive, None
        if arrive is not None:
            arrive()
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)


def _fill(objects: list[Any], pieces: list[bytes]) -> None:
    for at, piece in enumerate(pieces[: len(objects)]):
        objects[at] = pickle.loads(piece)  # noqa: S301 - another process of this plan wrote it
