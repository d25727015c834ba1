"""What each part of `oomph run` costs, in one process that switches them on and off in turns: in_turns.py JOB.

Two processes that do the same differ by 10 % on a machine that others share, and so do two minutes of one process. So the
parts take turns of a few steps each, in a new order every round. All turns of a round do the same: the same lengths in the
same order, on the same data. So each step has its like in the turns with everything off of the same round (`off` and
`again`) and is compared with their mean; a repeat's ratio is the median over all steps of all its rounds, and the ratio
the median of the repeats. `again` against `off` is how far two equal measurements differ.

To be run under `oomph run`; prints one JSON object. What stays on when all is off: PyTorch's own call of an attached
tracker, which returns at once (`recorder_cost.py` says what that takes; `blocks` is how many are taken in a step), and the
process that looks at the box once a second, whose processor time is given instead. `faults` is how many page faults the
script's thread has in a step: the box is a file, and what the kernel has just written to the disk costs one to write to.
"""

import argparse
import ctypes
import importlib
import json
import os
import random
import re
import resource
import statistics
import time

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
#: A turn takes about so long, so that many fit into a repeat.
TURN_SECONDS = 0.15
#: Steps of a turn that are counted.
STEPS_MIN, STEPS_MAX = 3, 40
WARM_UP = 20


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
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0, help="what all repeats together may take")
    parser.add_argument("--parts", nargs="*", default=["all"], choices=[name for name in PARTS if name not in ("off", "again")])
    wanted = parser.parse_args()
    names = ["off", "again", *wanted.parts]

    torch.manual_seed(0)
    model, loss, sizes = JOBS[wanted.job]()
    optimizer = torch.optim.AdamW(model.parameters())
    switches = Switches()
    # Every length there is, so that the cache has room for all of them before anything is counted.
    list(timed_steps(optimizer, loss, sizes, max(WARM_UP, len(set(sizes)))))
    taken_before = torch.cuda.memory_stats()["allocation.all.allocated"]
    times_ms = list(timed_steps(optimizer, loss, sizes, WARM_UP))
    blocks = (torch.cuda.memory_stats()["allocation.all.allocated"] - taken_before) / WARM_UP
    steps = min(max(int(TURN_SECONDS * 1000 / statistics.median(times_ms)), STEPS_MIN), STEPS_MAX)

    faults = dict.fromkeys(names, 0)

    def turn(name, number):
        switches.set(PARTS[name])
        torch.manual_seed(number)
        before = own_faults()
        times_ms = list(timed_steps(optimizer, loss, sizes, steps + SETTLING, first=number * steps))
        faults[name] += own_faults() - before
        return times_ms[SETTLING:]

    repeats, number = [], 0
    for repeat in range(wanted.repeats):
        until = time.monotonic() + wanted.seconds / wanted.repeats
        rounds = []
        while not rounds or time.monotonic() < until:
            rounds.append({name: turn(name, number) for name in random.sample(names, len(names))})
            number += 1
        repeats.append(rounds)
    switches.set(PARTS["all"])
    print(json.dumps({
        "job": wanted.job, "steps": steps * number, "steps_a_turn": steps, "rounds": number, "blocks": blocks,
        "supervisor_percent": supervisor_percent(), "parts": {name: summary(name, repeats) for name in names},
        "faults": {name: count / ((steps + SETTLING) * number) for name, count in faults.items()},
    }))


def own_faults():
    """Page faults of this thread so far."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt


def supervisor_percent():
    """The processor time of the process that looks at the box, in per cent of the time since it began."""
    with open(f"/proc/{os.getppid()}/stat") as file, open("/proc/uptime") as uptime:
        fields = file.read().rpartition(")")[2].split()
        running_ticks = float(uptime.read().split()[0]) * os.sysconf("SC_CLK_TCK") - int(fields[19])
    return 100 * (int(fields[11]) + int(fields[12])) / running_ticks


def summary(name, repeats):
    """The median step of a part, and its ratio to the same steps with everything off, by repeat."""
    ratios = [statistics.median(ratio for turns in rounds for ratio in compared(name, turns)) for rounds in repeats]
    median_ms = statistics.median(taken for rounds in repeats for turns in rounds for taken in turns[name])
    return {"median_ms": median_ms, "ratio": statistics.median(ratios), "ratios": ratios}


def compared(name, turns):
    """What each step of a turn took, by what its likes took."""
    if name == "again":
        return [again / off for again, off in zip(turns["again"], turns["off"])]
    return [2 * taken / (off + again) for taken, off, again in zip(turns[name], turns["off"], turns["again"])]


main()
