"""Code of a library that may take for ever, with an end."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TooLong(Exception):
    """It was stopped."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Ends Python code inside that takes longer, by `TooLong`. A call into C is waited for."""
    lock, is_over = threading.Lock(), False
    thread = ctypes.c_ulong(threading.get_ident())

    def stop() -> None:
        with lock:
            if not is_over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TooLong))

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            is_over = True
        timer.cancel()
