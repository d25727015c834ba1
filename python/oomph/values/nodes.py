"""Nodes and records: what storages of the card hold, and which calls made it so."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ..hollow.operators import is_written

#: Write all of their first argument, whatever it held.
_OVERWRITING = frozenset(
    "copy_ fill_ zero_ normal_ uniform_ random_ bernoulli_ exponential_ arange randperm linspace eye".split()
)
#: Running statistics are written, and neither the schema nor the version of the tensor says so.
_WRITTEN_UNDECLARED = dict.fromkeys(("cudnn_batch_norm", "native_batch_norm"), (3, 4))


class Node:
    """What one storage holds between two writes."""

    __slots__ = ("__weakref__", "data", "is_known", "is_of_graph", "made_by", "nbytes")

    def __init__(self, nbytes: int, made_by: Record | None = None, *, is_known: bool = True) -> None:
        self.nbytes = nbytes
        #: The call that gives the values, until it was worked out. Without one, and without data, it is all zeros.
        self.made_by = made_by
        #: The values, as a storage of the host.
        self.data: Any = None
        #: Whether the values can be worked out at all.
        self.is_known = is_known
        #: Whether autograd recorded the call: what the card keeps of that, it keeps for gradients.
        self.is_of_graph = False


class Ref:
    """A tensor of the card in a record: how it lies in a node."""

    __slots__ = ("dtype", "is_conj", "is_neg", "node", "offset", "size", "stride")

    def __init__(self, node: Node | None, tensor: Any) -> None:
        self.node = node
        self.dtype, self.is_conj, self.is_neg = tensor.dtype, tensor.is_conj(), tensor.is_neg()
        self.size, self.stride, self.offset = tensor.size(), tensor.stride(), tensor.storage_offset()


class Record:
    """One call: its arguments with a `Ref` for each tensor of the card, and the nodes it makes."""

    __slots__ = ("args", "at", "call", "kwargs", "outs", "written")

    def __init__(self, at: int, call: Call, args: list[Any], kwargs: dict[str, Any]) -> None:
        self.at, self.call = at, call
        self.args, self.kwargs = args, kwargs
        #: Of each storage that is written in place: what it held before, and what it holds then.
        self.written: list[tuple[Node, weakref.ref[Node]]] = []
        #: Of each tensor that is made: its node, and how it lies there; nothing for tensors of the host.
        self.outs: list[tuple[weakref.ref[Node], Ref] | None] = []

    def clear(self) -> None:
        """It was worked out: what it depends on may go."""
        self.args, self.kwargs, self.written, self.outs = [], {}, [], []

    def refs(self) -> Iterator[Ref]:
        """The tensors of the card among its arguments."""
        yield from flat(self.args, Ref)
        yield from flat(list(self.kwargs.values()), Ref)

    def made(self) -> Iterator[Node]:
        """The nodes that somebody may still ask for."""
        for node in (*(after() for _, after in self.written), *(out[0]() for out in self.outs if out)):
            if node is not None:
                yield node


class Call:
    """An operator, and what its schema says."""

    __slots__ = ("draws", "is_overwriting", "name", "operator", "outs", "places")

    def __init__(self, operator: Any, seeded: Any) -> None:
        schema = operator._schema
        self.operator = operator
        self.name = schema.name.split("::")[1]
        positional = [argument for argument in schema.arguments if not argument.kwarg_only]
        self.places = [at for at, argument in enumerate(positional) if is_written(argument)]
        self.places += _WRITTEN_UNDECLARED.get(self.name, ())
        self.outs = [argument.name for argument in schema.arguments if argument.kwarg_only and is_written(argument)]
        self.is_overwriting = self.name in _OVERWRITING
        self.draws = seeded in operator.tags

    def written(self, args: tuple[Any, ...], kwargs: dict[str, Any], kind: type) -> list[Any]:
        """The tensors that a call writes in place."""
        found: list[Any] = []
        for at in self.places:
            if at < len(args):
                found.extend(flat(args[at], kind))
        for name in self.outs:
            found.extend(flat(kwargs.get(name), kind))
        return found


def flat(value: Any, kind: type) -> Iterator[Any]:
    """Everything of one type in nested lists."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item, kind)


def mapped(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """Nested lists with something else for everything of one type."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [mapped(item, kind, change) for item in value]
    return value
