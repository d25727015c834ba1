"""Stands in for mpi4py with one process."""

from __future__ import annotations

import socket
from typing import Any

# A machine without a name server finds itself by this name only.
socket.getfqdn = lambda name="": "localhost"


class _World:
    rank, size = 0, 1

    def Get_rank(self) -> int:
        """The only one."""
        return 0

    def Get_size(self) -> int:
        """One."""
        return 1

    def bcast(self, value: Any, root: int = 0) -> Any:
        """To oneself."""
        return value


class MPI:
    """The part of it that programs name."""

    COMM_WORLD = _World()
