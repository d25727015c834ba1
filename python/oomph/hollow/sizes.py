"""Operators that read the card to learn the size of their result."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import reads
from .counted import Counted
from .distinct import Distinct
from .earlier_sizes import EarlierSizes
from .operators import Shape, tensors_of

if TYPE_CHECKING:
    from .following import Following


class SizeReads:
    """Answers what they read: the true size where values are known; elsewhere that of the step before, or the most there
    can be."""

    def __init__(self, following: Following) -> None:
        self.following = following
        self.earlier = EarlierSizes()
        self.counted = Counted(following.torch)
        self.distinct = Distinct(following.torch)
        #: What the next selection picks, where who makes it knows.
        self._picked: int | None = None

    def operators(self) -> dict[str, Callable[..., Any]]:
        """What is put around each of them."""
        return {
            "nonzero": self._nonzero,
            "_unique2": self._unique,
            "unique_dim": self._unique,
            "unique_consecutive": self._unique,
            "unique_dim_consecutive": self._unique,
            "_coalesce": self._coalesce,
            "repeat_interleave": self._repeat_interleave,
            "multinomial": self._multinomial,
        }

    def _nonzero(self, shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor = args[0]
        if not tensor.is_cuda:
            return run()
        if self._picked is not None:
            with self.following.reads.answered(_chunk_counts(self._picked, tensor.numel()), None):
                return run()
        values, assumed = self.following.known(tensor)
        known = None if values is None else int(self.following.quietly(values.count_nonzero))
        before = self.counted.of(tensor) if known is None else None
        count, assumed = before or self._size(shape.name, tensor.numel(), known, assumed)
        self.counted.note(tensor, count, assumed)
        with self.following.reads.answered(_chunk_counts(count, tensor.numel()), assumed):
            result = run()
        if values is not None:
            self.following.aside(self.following.follow, shape, args, kwargs, result)
        self.following.check()
        return result

    def _unique(self, shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor = args[0]
        if not tensor.is_cuda:
            return run()
        values, assumed = self.following.known(tensor)
        found = None
        along = tensor.numel()
        if shape.name.startswith("unique_dim"):
            along = tensor.size(args[1])
        elif not shape.name.endswith("consecutive"):
            along = self.distinct.of(tensor)
        known = None
        if values is not None:
            found = self.following.quietly(lambda: shape.operator(values, *args[1:], **kwargs))
            known = tensors_of(found)[0].size(args[1] if shape.name.startswith("unique_dim") else 0)
        count, assumed = self._size(shape.name, along, known, assumed)
        with self.following.reads.answered(count.to_bytes(8, "little"), assumed):
            result = run()
        if found is not None:
            self.following.aside(lambda *_: self._put_all(result, found, assumed), shape, args, kwargs, result)
        self.following.check()
        return result

    def _coalesce(self, _shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], _kwargs: dict[str, Any]) -> Any:
        """A sparse tensor keeps as many entries as it has places, which are read back to tell."""
        tensor = args[0]
        if not tensor.is_cuda:
            return run()
        indices = tensor._indices()
        places = self.following.quietly(lambda: self.following.values.of(indices))
        assumed = reads.ALL if places is None else self.following.values.assumed(indices)
        if places is not None:
            places = self.following.quietly(lambda: places.unique(dim=1))
        count = tensor._nnz() if places is None else places.size(1)
        with self.following.reads.answered(count.to_bytes(8, "little"), assumed):
            result = run()
        if places is not None:
            self.following.quietly(lambda: self._put_all(result._indices(), places, assumed))
        self.following.check()
        return result

    def _size(self, name: str, most: int, known: int | None, assumed: str | None) -> tuple[int, str | None]:
        """How many of at most so many there are, and what was assumed for that."""
        count = self.earlier.picked(name, most, known)
        if known is not None:
            return known, assumed
        return (most, reads.ALL) if count is None else (count, reads.EARLIER)

    @contextlib.contextmanager
    def picking(self, count: int) -> Iterator[None]:
        """Selections inside pick so many."""
        before, self._picked = self._picked, count
        try:
            yield
        finally:
            self._picked = before

    def _put_all(self, outputs: Any, found: Any, assumed: str | None) -> None:
        for output, values in zip(tensors_of(outputs), tensors_of(found), strict=True):
            if output.size() == values.size() and self.following.values.may_keep(output):
                self.following.values.put(output, values, assumed, is_new=True)

    def _repeat_interleave(
        self, shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Unknown numbers of repeats: one each, and none negative."""
        repeats = args[0]
        if not repeats.is_cuda or self.following.known(repeats)[0] is not None:
            result = run()
            if repeats.is_cuda:
                self.following.aside(self.following.follow, shape, args, kwargs, result)
            return result
        ones = self.following.quietly(lambda: self.following.full(repeats, 1))
        self.following.quietly(lambda: self.following.values.put(repeats, ones, reads.ZEROS))
        try:
            return run()
        finally:
            self.following.values.forget(repeats)

    def _multinomial(self, _shape: Shape, run: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The first thing it reads is whether these are probabilities."""
        if not args[0].is_cuda:
            self.following.catch_up(kwargs.get("generator"))
            return run()
        with self.following.reads.answered(b"\1", None):
            return run()


def _chunk_counts(count: int, elements: int) -> bytes:
    """How many elements are not zero, in the pieces in which PyTorch counts them."""
    piece = (1 << 31) - 1
    pieces = max(1, -(-elements // piece))
    counts = [min(piece, max(0, count - at * piece)) for at in range(pieces)]
    return b"".join(each.to_bytes(4, "little") for each in counts)
