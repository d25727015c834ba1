"""What each part of `oomph run` costs, in one process that switches them on and off in turns: in_turns.py JOB STEPS ROUNDS.

Two processes that do the same differ by 10 % on a machine that others share, and so do two minutes of one process. So the
parts take turns of a few steps each, in a new order every round, and a turn's median step is compared with those of the
two turns with everything off of the same round (`off` and `again`): the ratio is the median over all rounds, with the
range in which that median lies in 95 of 100 drawings of the rounds. `again` against `off` is how far two equal
measurements differ. To be run under `oomph run`; prints one JSON object. What stays on when all is off: PyTorch's own call
of an attached tracker, which returns at once (`recorder_cost.py` says what that takes; `blocks` is how many are taken in a
step), and the process that looks at the box once a second, whose processor time is given instead.
"""

import ctypes
import importlib
import json
import os
import random
import re
import statistics
import sys

import torch

from steps import JOBS, timed_steps

#: What is on: PyTorch's events, and each hook beside them. Hooks alone would do more than in a job: without a recorder
#: nothing is counted for them.
PARTS = {
    "off": (), "again": (), "events": ("events",), "calls": ("events", "calls"), "backward": ("events", "backward"),
    "steps": ("events", "steps"), "all": ("events", "calls", "backward", "steps"),
}
#: Steps after a switch that are not counted: Python looks methods up anew.
SETTLING = 2


class Switches:
    """Switches parts of the recording on and off."""

    def __init__(self):
        with open("/proc/self/maps") as maps:
            library = re.search(r"\S*liboomph_recorder\S*\.so", maps.read()).group()
        self.pause = ctypes.PyDLL(library).oomph_recorder_pause
        optimizers = importlib.import_module("torch.optim.optimizer")
        self.hooks = [optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks]
        self.kept = [dict(hooks) for hooks in self.hooks]
        self.call = torch.nn.Module.__call__
        self.engine = torch.autograd._engine_run_backward
        self.plain_engine = torch.autograd.graph._engine_run_backward

    def set(self, parts):
        self.pause(int("events" not in parts))
        torch.nn.Module.__call__ = self.call if "calls" in parts else self.call.__wrapped__
        torch.autograd._engine_run_backward = self.engine if "backward" in parts else self.plain_engine
        for hooks, kept in zip(self.hooks, self.kept):
            hooks.clear()
            hooks.update(kept if "steps" in parts else {})


def main():
    job, steps, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(0)
    model, loss, sizes = JOBS[job]()
    optimizer = torch.optim.AdamW(model.parameters())

    switches = Switches()
    list(timed_steps(optimizer, loss, sizes, steps + SETTLING))
    taken_before = torch.cuda.memory_stats()["allocation.all.allocated"]
    list(timed_steps(optimizer, loss, sizes, steps))
    blocks = (torch.cuda.memory_stats()["allocation.all.allocated"] - taken_before) / steps
    turns = {name: [] for name in PARTS}
    for _ in range(rounds):
        for name in random.sample(list(PARTS), len(PARTS)):
            switches.set(PARTS[name])
            turns[name].append(statistics.median(list(timed_steps(optimizer, loss, sizes, steps + SETTLING))[SETTLING:]))
    switches.set(PARTS["all"])
    parts = {name: summary(name, turns) for name in PARTS}
    found = {"job": job, "steps": steps * rounds, "blocks": blocks, "supervisor_percent": supervisor_percent()}
    print(json.dumps({**found, "parts": parts}))


def supervisor_percent():
    """The processor time of the process that looks at the box, in per cent of the time since it began."""
    with open(f"/proc/{os.getppid()}/stat") as file, open("/proc/uptime") as uptime:
        fields = file.read().rpartition(")")[2].split()
        running_ticks = float(uptime.read().split()[0]) * os.sysconf("SC_CLK_TCK") - int(fields[19])
    return 100 * (int(fields[11]) + int(fields[12])) / running_ticks


def summary(name, turns):
    """The median of a part's turns, its ratio to the turns of the same rounds with everything off, and how sure that is."""
    plain = turns["off"] if name == "again" else [(off + again) / 2 for off, again in zip(turns["off"], turns["again"])]
    ratios = [taken / off for taken, off in zip(turns[name], plain)]
    drawn = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(1000))
    return {"median_ms": statistics.median(turns[name]), "ratio": statistics.median(ratios), "range": [drawn[25], drawn[974]]}


main()
