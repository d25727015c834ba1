"""Stores without a server: this process alone writes to them, and nobody waits for what others would write.

PyTorch's own code asks a store for the names of NCCL's groups, which the hollow NCCL does not look at: anything serves.
What a script asks for and no process of the plan has written is answered by an error that names the line.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, urlparse

from .alone import NobodyThere, is_called_by_torch, place_of_caller

#: As long as the name that NCCL gives a group.
_NAME_OF_A_GROUP = bytes(128)
#: C++ alone would keep half of a store.
_KEPT: list[Any] = []

Replace = Callable[[str, Any, Any], None]


def make_class(distributed: ModuleType) -> type:
    """The class of stores, made once torch is there."""

    class StandInStore(distributed.Store):  # type: ignore[name-defined, misc]
        """A store whose other users have all done by now what this process does."""

        def __init__(self, world_size: int = 1) -> None:
            super().__init__()
            self.values: dict[str, bytes] = {}
            self.world_size = max(world_size, 1)
            _KEPT.append(self)

        def set(self, key: str, value: bytes | str) -> None:
            self.values[key] = value.encode() if isinstance(value, str) else value

        def get(self, key: str) -> bytes:
            return self._found([key], is_torch=is_called_by_torch(1))[0]

        def add(self, key: str, amount: int) -> int:
            """Every process adds as much: who counts arrivals sees all of them."""
            total = int(self.values.get(key, b"0")) + amount * self.world_size
            self.values[key] = str(total).encode()
            return total

        def append(self, key: str, value: bytes | str) -> None:
            self.set(key, self.values.get(key, b"") + (value.encode() if isinstance(value, str) else value))

        def compare_set(self, key: str, expected: bytes | str, desired: bytes | str) -> bytes:
            expected = expected.encode() if isinstance(expected, str) else expected
            if self.values.get(key, b"") == expected:
                self.set(key, desired)
            return self.values.get(key, expected)

        def check(self, keys: list[str]) -> bool:
            """A script that asks again until the answer is yes would ask for ever: it gets on, to where it reads."""
            return all(key in self.values for key in keys) or not is_called_by_torch(1)

        def wait(self, keys: list[str], _timeout: datetime.timedelta | None = None) -> None:
            self._found(keys, is_torch=is_called_by_torch(1))

        def multi_get(self, keys: list[str]) -> list[bytes]:
            return self._found(keys, is_torch=is_called_by_torch(1))

        def _found(self, keys: list[str], *, is_torch: bool) -> list[bytes]:
            missing = [key for key in keys if key not in self.values]
            if missing and not is_torch:
                raise NobodyThere(_sentence(missing[0]))
            return [self.values.get(key, _NAME_OF_A_GROUP) for key in keys]

        def multi_set(self, keys: list[str], values: list[Any]) -> None:
            for key, value in zip(keys, values, strict=True):
                self.set(key, value)

        def has_extended_api(self) -> bool:
            return True

        def delete_key(self, key: str) -> bool:
            return self.values.pop(key, None) is not None

        #: C++ knows these by other names.
        deleteKey = delete_key  # noqa: N815

        def num_keys(self) -> int:
            return len(self.values)

        getNumKeys = num_keys  # noqa: N815

        def list_keys(self) -> list[str]:
            return list(self.values)

        def set_timeout(self, _timeout: datetime.timedelta) -> None:
            """Nobody is waited for."""

        @property
        def timeout(self) -> datetime.timedelta:
            return datetime.timedelta(minutes=5)

        def clone(self) -> Any:
            return self

    return StandInStore


def install(distributed: ModuleType, store_class: type, replace: Replace) -> None:
    """Puts stores without a server in the place of those that would wait for others."""

    class TCPStore(store_class):  # type: ignore[misc, valid-type]
        def __init__(
            self,
            host_name: str = "localhost",
            port: int = 0,
            world_size: int | None = None,
            *_args: Any,
            **_kwargs: Any,
        ) -> None:
            super().__init__(world_size or 1)
            self.host, self.port = host_name, port

    class FileStore(store_class):  # type: ignore[misc, valid-type]
        def __init__(self, file_name: str = "", world_size: int = -1, **_kwargs: Any) -> None:
            super().__init__(world_size)
            self.path = file_name

    def rendezvous(url: str, rank: int = -1, world_size: int = -1, **_kwargs: Any) -> Iterator[tuple[Any, int, int]]:
        rank, world_size = place_in_job(url, rank, world_size)
        yield store_class(world_size), rank, world_size

    for name, new in (("TCPStore", TCPStore), ("FileStore", FileStore)):
        if hasattr(distributed, name):
            replace(name, getattr(distributed, name), new)
    replace("rendezvous", distributed.rendezvous, rendezvous)


def place_in_job(url: str | None, rank: int, world_size: int) -> tuple[int, int]:
    """The number of this process and how many there are: as given, in the address, or by the launcher's variables."""
    told = {**os.environ, **dict(parse_qsl(urlparse(url or "").query))}
    number = rank if rank >= 0 else int(told.get("rank") or told.get("RANK") or 0)
    count = world_size if world_size > 0 else int(told.get("world_size") or told.get("WORLD_SIZE") or 1)
    return number, count


def _sentence(key: str) -> str:
    return (
        f"{place_of_caller()} waits for {key!r} in a store, which another process of the job would set; "
        "a plan does not run it"
    )
