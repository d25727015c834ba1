"""Sidecar helpers: report and cap GPU memory of the inference pods."""
import logging
import os
import threading
import time

import torch

log = logging.getLogger("memguard")
LIMIT = float(os.environ.get("GPU_FRACTION", "0.8"))


def setup(device: int = 0) -> None:
    torch.cuda.set_device(device)
    torch.cuda.set_memory_fraction(LIMIT, device)


def report(device: int = 0) -> dict:
    return {
        "allocated": torch.cuda.memory_allocated(device),
        "cached": torch.cuda.memory_cached(device),
        "peak": torch.cuda.max_memory_allocated(device),
    }


class Reporter(threading.Thread):
    def __init__(self, every: float = 30.0):
        super().__init__(daemon=True)
        self.every = every

    def run(self) -> None:
        while True:
            numbers = report()
            log.info(" ".join(f"{k}={v / 2**20:.0f}MiB" for k, v in numbers.items()))
            time.sleep(self.every)


def install() -> Reporter:
    setup()
    r = Reporter()
    r.start()
    return r
