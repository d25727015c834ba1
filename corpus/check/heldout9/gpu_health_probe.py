"""Sidecar that exports GPU numbers for the dashboards."""
import argparse
import time

import torch
from prometheus_client import Gauge, start_http_server

ALLOC = Gauge("torch_allocated_bytes", "live tensors")
CACHED = Gauge("torch_cached_bytes", "cached by the allocator")
PEAK = Gauge("torch_peak_bytes", "peak since last scrape")


def burn(mins: float, size: int, dev: torch.device):
    a = torch.randn(size, size, device=dev)
    stop = time.time() + 60 * mins
    while time.time() < stop:
        torch.cuda.reset_max_memory_allocated(dev)
        b = a @ a
        torch.cuda.synchronize(dev)
        ALLOC.set(torch.cuda.memory_allocated(dev))
        CACHED.set(torch.cuda.memory_reserved(dev))
        PEAK.set(torch.cuda.max_memory_allocated(dev))
        del b


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--minutes", type=float, default=5)
    ap.add_argument("--size", type=int, default=8192)
    ap.add_argument("--share", type=float, help="use at most this part of the card")
    args = ap.parse_args()
    start_http_server(9400)
    if args.share:
        torch.cuda.set_per_process_memory_fraction(args.share)
    burn(args.minutes, args.size, torch.device("cuda:0"))
