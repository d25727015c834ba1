"""Optimizer state that lives on the host and visits the card."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

#: Smaller state (step counts) stays where it is: a trip would cost more than it frees.
SMALLEST_BYTES = 4096


class HostState:
    """Moves the state of parameters to the card and back; each tensor has one place on the host, and keeps it.

    On a CUDA card the trips run on streams of their own, beside the steps.
    """

    def __init__(self, torch: ModuleType, device_types: tuple[str, ...]) -> None:
        self._torch = torch
        self._device_types = device_types
        #: By the id of a tensor that is on the card for now: the tensor, and its place on the host.
        self._visiting: dict[int, tuple[Any, Any]] = {}
        #: The streams to and from each card.
        self._streams: dict[Any, tuple[Any, Any]] = {}

    def concerns(self, parameter: Any) -> bool:
        """Whether a parameter is on a card."""
        return parameter.device.type in self._device_types

    def fetch(self, optimizer: Any, parameters: Iterable[Any]) -> None:
        """Starts bringing the state of these parameters to the card."""
        for parameter in parameters:
            if self.concerns(parameter):
                home, state = parameter.device, optimizer.state.get(parameter)
                _replace_tensors(self._torch, state, lambda tensor: self._fetched(tensor, home))

    def arrive(self) -> None:
        """Lets what runs next on the cards wait for what was fetched."""
        for device, (incoming, _) in self._streams.items():
            self._torch.cuda.current_stream(device).wait_stream(incoming)

    def put_back(self, optimizer: Any, parameters: Iterable[Any]) -> None:
        """Starts bringing what these parameters have on the card back to the host."""
        for device, (_, outgoing) in self._streams.items():
            outgoing.wait_stream(self._torch.cuda.current_stream(device))
        for parameter in parameters:
            if self.concerns(parameter):
                own = parameter.untyped_storage().data_ptr()
                _replace_tensors(self._torch, optimizer.state.get(parameter), lambda tensor: self._left(tensor, own))

    def wait(self) -> None:
        """Comes back when everything is on the host: others may read it there, and its room on the card is free."""
        for _, outgoing in self._streams.values():
            outgoing.synchronize()

    def to_host(self, tensor: Any, is_pinned: bool) -> Any:
        """A tensor on the host with the same values."""
        place = self._torch.empty_like(tensor, device="cpu", pin_memory=is_pinned)
        self._copy_out(place, tensor)
        return place

    def bytes_of(self, optimizer: Any, parameter: Any) -> int | None:
        """The bytes of a parameter's state; `None` before its first step."""
        state = optimizer.state.get(parameter)
        return sum(map(_bytes, _tensors(self._torch, state))) if state else None

    def _fetched(self, tensor: Any, home: Any) -> Any:
        if tensor.device.type != "cpu" or _bytes(tensor) < SMALLEST_BYTES:
            return tensor
        if home.type != "cuda":
            visitor = tensor.clone()
        else:
            incoming, _ = self._streams_of(home)
            # The room may be that of a tensor which the step before has just freed.
            incoming.wait_stream(self._torch.cuda.current_stream(home))
            with self._torch.cuda.stream(incoming):
                visitor = self._torch.empty_like(tensor, device=home)
                visitor.copy_(tensor, non_blocking=True)
            visitor.record_stream(self._torch.cuda.current_stream(home))
        self._visiting[id(visitor)] = (visitor, tensor)
        return visitor

    def _left(self, tensor: Any, parameter_pointer: int) -> Any:
        known, place = self._visiting.pop(id(tensor), (None, None))
        if known is tensor:
            self._copy_out(place, tensor)
            return place
        storage = tensor.untyped_storage()
        is_alone = storage.nbytes() == _bytes(tensor) and storage.data_ptr() != parameter_pointer
        if tensor.device.type not in self._device_types or not is_alone or _bytes(tensor) < SMALLEST_BYTES:
            return tensor
        return self.to_host(tensor, tensor.device.type == "cuda")

    def _copy_out(self, place: Any, tensor: Any) -> None:
        if tensor.device.type != "cuda":
            place.copy_(tensor)
            return
        _, outgoing = self._streams_of(tensor.device)
        with self._torch.cuda.stream(outgoing):
            place.copy_(tensor, non_blocking=True)
        tensor.record_stream(outgoing)

    def _streams_of(self, device: Any) -> tuple[Any, Any]:
        if device not in self._streams:
            cuda = self._torch.cuda
            self._streams[device] = (cuda.Stream(device), cuda.Stream(device))
            self._streams[device][1].wait_stream(cuda.current_stream(device))
        return self._streams[device]


def _bytes(tensor: Any) -> int:
    return tensor.numel() * tensor.element_size()


def _tensors(torch: ModuleType, state: Any) -> list[Any]:
    found: list[Any] = []

    def note(tensor: Any) -> Any:
        found.append(tensor)
        return tensor

    _replace_tensors(torch, state, note)
    return found


def _replace_tensors(torch: ModuleType, value: Any, replaced: Callable[[Any], Any]) -> None:
    """Puts others in the place of the plain tensors in a parameter's state, however deep they lie."""
    if isinstance(value, dict):
        places: Iterable[Any] = list(value)
    elif isinstance(value, list):
        places = range(len(value))
    else:
        return
    for place in places:
        if type(value[place]) is torch.Tensor:
            value[place] = replaced(value[place])
        else:
            _replace_tensors(torch, value[place], replaced)
