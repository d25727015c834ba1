"""Small jobs that are ended in every way, at seeded moments.

many_endings.py SEED COUNT          one after the other, each a fork of this process; prints how each ended
many_endings.py ENDING STEP FILE    one alone, the whole process; FILE is where it tells how far it is

Forks are cheap: torch is imported once. They are made before any card is used, so each uses the card as a process of
its own would. What a job tells lies in memory that outlives it.
"""

import dataclasses
import gc
import json
import mmap
import os
import random
import signal
import struct
import sys
import time

ENDINGS = ("SIGKILL", "SIGTERM", "SIGINT", "out of memory", "exception", "os._exit")


class Told:
    """How far a job is: the steps it has done, and how many blocks its allocator had given out by then."""

    _FORM = struct.Struct("qq")

    def __init__(self, path=None):
        if path is None:
            self._memory = mmap.mmap(-1, mmap.PAGESIZE)
            return
        with open(path, "r+b") as file:
            file.truncate(mmap.PAGESIZE)
            self._memory = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def tell(self, steps, allocations):
        # In one piece: `pack_into` writes zeros first, and the job may end there.
        self._memory[: self._FORM.size] = self._FORM.pack(steps, allocations)

    @property
    def steps(self):
        return self._FORM.unpack_from(self._memory)[0]

    @property
    def allocations(self):
        return self._FORM.unpack_from(self._memory)[1]


@dataclasses.dataclass
class Ending:
    """How a job ends, and when."""

    kind: str
    #: The step after which the job ends itself.
    last_step: int
    #: How long after its first step a signal comes.
    delay_seconds: float

    @classmethod
    def draw(cls, numbers):
        return cls(numbers.choice(ENDINGS), numbers.randrange(30), numbers.random() * 0.08)

    def bring_about(self, pid, told):
        """Sends the signal, if it is one, once the job has begun to train."""
        if not self.kind.startswith("SIG"):
            return
        while told.steps == 0:
            time.sleep(0.001)
        time.sleep(self.delay_seconds)
        os.kill(pid, signal.Signals[self.kind])


def train(told, ending, last_step):
    """Trains until it is ended, or ends itself."""
    import torch

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
        told.tell(step + 1, torch.cuda.memory_stats()["allocation.all.allocated"])
        if step == last_step and ending == "exception":
            raise ValueError("as planned")
        if step == last_step and ending == "os._exit":
            os._exit(3)


def fork_many(seed, count):
    """Ends so many forks, and prints how each ended and what it had told until then."""
    # An optimizer imports it when it is made: once here instead of in every fork.
    import torch._dynamo  # noqa: F401

    # Python looks through everything there is when it ends; what was there before the fork need not be copied for that.
    gc.freeze()

    numbers = random.Random(seed)
    for _ in range(count):
        ending, told = Ending.draw(numbers), Told()
        pid = os.fork()
        if pid == 0:
            sys.stderr = open(os.devnull, "w")
            train(told, ending.kind, ending.last_step)
        ending.bring_about(pid, told)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        shown = {"pid": pid, "ending": ending.kind, "code": code, "steps": told.steps, "allocations": told.allocations}
        print(json.dumps(shown), flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        fork_many(int(sys.argv[1]), int(sys.argv[2]))
    else:
        train(Told(sys.argv[3]), sys.argv[1], int(sys.argv[2]))
