"""Runs one small job after the other, each in a process of its own, and ends each in another way: many_endings.py SEED COUNT.

torch is imported once; the jobs are forked before any card is used, so each uses the card as a process of its own would.
Prints for every job how it ended and what it had told until then.
"""

import json
import mmap
import os
import random
import signal
import struct
import sys
import time

import torch

ENDINGS = ("SIGKILL", "SIGTERM", "SIGINT", "out of memory", "exception", "os._exit")
#: Steps and allocations that the job has told of, in memory that outlives it.
TOLD = struct.Struct("qq")


def job(told, ending, last_step):
    """Trains until it is ended, or ends itself."""
    # Whoever started the tests in the background has them ignore it, and so do their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    torch.cuda.set_per_process_memory_fraction(0.004)
    model = torch.nn.Sequential(*[torch.nn.Linear(128, 128) for _ in range(3)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    kept = []
    for step in range(100_000):
        optimizer.zero_grad()
        loss = model(torch.randn(32, 128, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        if ending == "out of memory":
            kept.append(torch.empty(1 << 22, device="cuda"))  # the line to blame
        TOLD.pack_into(told, 0, step + 1, torch.cuda.memory_stats()["allocation.all.allocated"])
        if step == last_step and ending == "exception":
            raise ValueError("as planned")
        if step == last_step and ending == "os._exit":
            os._exit(3)


def main():
    numbers = random.Random(int(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        ending = numbers.choice(ENDINGS)
        last_step, delay = numbers.randrange(30), numbers.random() * 0.08
        told = mmap.mmap(-1, mmap.PAGESIZE)
        pid = os.fork()
        if pid == 0:
            sys.stderr = open(os.devnull, "w")
            job(told, ending, last_step)
        if ending.startswith("SIG"):
            while TOLD.unpack_from(told)[0] == 0:
                time.sleep(0.001)
            time.sleep(delay)
            os.kill(pid, signal.Signals[ending])
        _, status = os.waitpid(pid, 0)
        steps, allocations = TOLD.unpack_from(told)
        print(json.dumps({"pid": pid, "ending": ending, "status": status, "steps": steps, "allocations": allocations}), flush=True)


if __name__ == "__main__":
    main()
