"""What the parts of a batch have to do with optimizers and with other processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any


class Ties:
    """One for all windows of this process."""

    def __init__(self, torch: ModuleType, optimizers: Iterable[Any], replicas: Iterable[Any]) -> None:
        self._torch = torch
        self._optimizers = optimizers
        self._replicas = replicas
        self._held_back: list[Any] = []
        self._aside: list[tuple[Any, Any]] = []
        #: Called when the loss function is not called that told what counts in the first batch.
        self.disagree: Callable[[], None] = lambda: None

    def hold_back(self) -> None:
        """Gradients of all but the last part stay in this process, as in `no_sync()`."""
        self._held_back = [replica for replica in self._replicas if replica.require_backward_grad_sync]
        for replica in self._held_back:
            replica.require_backward_grad_sync = False

    def let_go(self) -> None:
        """The next gradients are exchanged."""
        for replica in self._held_back:
            replica.require_backward_grad_sync = True
        self._held_back = []

    def set_gradients_aside(self) -> None:
        """Gradients of earlier batches must not be scaled with those of this one."""
        copies = any(True for _ in self._replicas)
        for parameter in self._parameters():
            # Those of replicated models may lie in a buffer that is written to.
            self._aside.append((parameter, parameter.grad.clone() if copies else parameter.grad))
            parameter.grad = None

    def add_gradients_set_aside(self) -> None:
        """All gradients together are what the script expects."""
        for parameter, gradient in self._aside:
            parameter.grad = gradient if parameter.grad is None else gradient.add_(parameter.grad)
        self._aside = []

    def scale_gradients(self, factor: float) -> None:
        """Multiplies the gradients of this batch."""
        with self._torch.no_grad():
            for parameter in self._parameters():
                parameter.grad.mul_(factor)

    def _parameters(self) -> list[Any]:
        """Those of all optimizers that have a gradient, each once."""
        groups = (group for optimizer in list(self._optimizers) for group in optimizer.param_groups)
        found = {id(parameter): parameter for group in groups for parameter in group["params"]}
        return [parameter for parameter in found.values() if parameter.grad is not None]
