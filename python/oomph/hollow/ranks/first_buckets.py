"""When DDP's first buckets are freed.

DDP builds its buckets anew when its second step begins. The old ones are freed at the first collective after NCCL's
watchdog has seen their own collectives end, for which it looks every 100 ms. On a card it is chance on which side of
the second step's beginning that falls: of 43 runs on an H200 25 had freed them by then, and where it was looked at
(`benches/on_card/ranks/nccl_memory.py`) the watchdog had seen every end in those and not in the others. A plan has to be
the same each time, and does what happens more often.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from typing import Any

#: A segment of small blocks, as PyTorch takes them from the driver.
_WORTH_TELLING_BYTES = 2 * 2**20
#: The watchdog looks every 100 ms; on a machine that is very busy it may get to it late.
_MOST_SECONDS = 10.0
_PAUSE_SECONDS = 0.005
#: Where PyTorch cannot say how far the watchdog is, it has looked after this long.
_BLIND_SECONDS = 0.4


def install(core: Any, reducer_class: Any, note: Callable[[str], None]) -> None:
    """Has the first buckets of every DDP freed when its second step begins, and tells what they take."""
    initialize, rebuild = reducer_class.__init__, reducer_class._rebuild_buckets
    prepare = reducer_class.prepare_for_backward
    # What the buckets of each reducer take, of those that have not built them anew; and those that have sent something.
    bucket_bytes: dict[int, int] = {}
    sent: set[int] = set()

    @functools.wraps(initialize)
    def __init__(reducer: Any, params: Any, *args: Any, **kwargs: Any) -> None:
        initialize(reducer, params, *args, **kwargs)
        bucket_bytes[id(reducer)] = sum(weight.numel() * weight.element_size() for weight in params)
        sent.discard(id(reducer))

    @functools.wraps(prepare)
    def prepare_for_backward(reducer: Any, *args: Any) -> None:
        sent.add(id(reducer))
        prepare(reducer, *args)

    @functools.wraps(rebuild)
    def _rebuild_buckets(reducer: Any) -> bool:
        first_bytes = bucket_bytes.get(id(reducer))
        if first_bytes is not None and id(reducer) in sent:
            _wait_for_watchdog(core)
        is_rebuilt = rebuild(reducer)
        if is_rebuilt:
            bucket_bytes.pop(id(reducer), None)
            # What is less than PyTorch's smallest segment is nothing to count on top of a plan.
            if (first_bytes or 0) >= _WORTH_TELLING_BYTES:
                note(_sentence(first_bytes or 0))
        return bool(is_rebuilt)

    reducer_class.__init__ = __init__
    reducer_class.prepare_for_backward = prepare_for_backward
    reducer_class._rebuild_buckets = _rebuild_buckets


def _wait_for_watchdog(core: Any) -> None:
    """Until it has seen the end of all that was queued: on a card that computes nothing all has ended."""
    end = time.monotonic() + _MOST_SECONDS
    while (is_behind := _is_watchdog_behind(core)) and time.monotonic() < end:
        time.sleep(_PAUSE_SECONDS)
    if is_behind is None:
        time.sleep(_BLIND_SECONDS)


def _is_watchdog_behind(core: Any) -> bool | None:
    """Whether a collective was queued whose end the watchdog has not seen; None where PyTorch cannot say."""
    try:
        told = json.loads(core._dump_nccl_trace_json(includeCollectives=False, onlyActive=False))
        groups = told["pg_status"].values()
        return any(group["last_enqueued_collective"] != group["last_completed_collective"] for group in groups)
    except (AttributeError, KeyError, TypeError, ValueError):
        # An older PyTorch, or one whose flight recorder was turned off.
        return None


def _sentence(first_bytes: int) -> str:
    size = f"{first_bytes / 2**20:.2f}MiB"
    return (
        f"DDP built its buckets anew in the second step, and the plan had the first ones ({size}) freed by then, as in 25 of "
        "43 runs on an H200; in the others NCCL's watchdog looked too late, and both were held for a step or more: to be sure "
        f"that the job fits, count {size} more"
    )
