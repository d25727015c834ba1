"""Runs one script of this folder and measures whether it really leaks, without oomph.

Every script prints once an iteration. At each of these moments this program notes what PyTorch has allocated on the
card and what the process and its children hold on the host; afterwards it prints both series as JSON on stderr.

    STEPS=60 python measure.py a/leaking/running_loss.py
"""

import builtins
import json
import os
import pathlib
import runpy
import sys

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def process_tree(pid: int) -> list[int]:
    """The process and all that it started."""
    children = []
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        children += map(int, (thread / "children").read_text().split())
    return [pid, *(found for child in children for found in process_tree(child))]


def host_bytes() -> int:
    """What the job's processes hold on the host and share with nobody by a file."""
    total = 0
    for pid in process_tree(os.getpid()):
        _, resident, shared, *_ = map(int, pathlib.Path(f"/proc/{pid}/statm").read_text().split())
        total += (resident - shared) * PAGE_BYTES
    return total


def main() -> None:
    script = sys.argv[1]
    device_series, host_series = [], []
    plain_print = builtins.print

    def measuring_print(*args, **options):
        import torch

        device_series.append(torch.cuda.memory_allocated())
        host_series.append(host_bytes())
        plain_print(*args, **options)

    builtins.print = measuring_print
    sys.argv = [script]
    runpy.run_path(script, run_name="__main__")
    builtins.print = plain_print
    print(json.dumps({"device": device_series, "host": host_series}), file=sys.stderr)


main()
