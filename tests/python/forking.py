"""Runs programs in forks of one process that has torch imported: importing it takes longer than most programs do.

What torch imports when the first optimizer is made is there, too. Every program has the CPU alone and one thread, runs in
its own folder, prints into files, and ends without the handlers of `atexit`, of which the process has some that are
not the program's.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

_PARENT = """
import json, os, runpy, sys, traceback, warnings
import numpy, torch, torch.utils.data, torch._dynamo
torch.set_num_threads(1)
class Warming(torch.optim.AdamW):
    "PyTorch wraps the step of each class when its first optimizer is made: a program's own are still to be."
weight = torch.nn.Parameter(torch.zeros(2))
weight.grad = torch.zeros(2)
Warming([weight]).step()
for line in sys.stdin:
    path, out, err, variables = json.loads(line)
    child = os.fork()
    if not child:
        os.environ.update(variables)
        os.chdir(os.path.dirname(path))
        null, flags = os.open(os.devnull, os.O_RDONLY), os.O_WRONLY | os.O_CREAT
        os.dup2(null, 0), os.dup2(os.open(out, flags), 1), os.dup2(os.open(err, flags), 2)
        code = 0
        sys.argv = [path]
        sys.path.insert(0, os.path.dirname(path))
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as exit:
            code = exit.code or 0
            if not isinstance(code, int):
                print(code, file=sys.stderr)
                code = 1
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
#: A program takes so long at most.
_SECONDS = 300


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it printed."""

    code: int
    out: str
    err: str


@functools.cache
def _parent(place: int) -> subprocess.Popen[str]:
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", _PARENT]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    atexit.register(process.kill)
    return process


class Running:
    """A program that was started. A parent waits for its child, so that what runs at once has other places."""

    def __init__(self, program: Path, place: int = 0, **environment: str) -> None:
        self._parent = _parent(place)
        self._folder = tempfile.TemporaryDirectory()
        self._printed = [Path(self._folder.name, name) for name in ("out", "err")]
        job = [str(program), *map(str, self._printed), environment]
        print(json.dumps(job), file=self._parent.stdin, flush=True)

    def wait(self, seconds: float = _SECONDS) -> Ended:
        """Waits for its end."""
        is_done, _, _ = select.select([self._parent.stdout], [], [], seconds)
        if not is_done:
            # Whoever comes next gets another parent.
            self._parent.kill()
            _parent.cache_clear()
        assert is_done, "it goes on for ever"
        code = int(self._parent.stdout.readline())
        with self._folder:
            return Ended(code, *(path.read_text() for path in self._printed))


def run(program: Path) -> Ended:
    """Runs the program in this file to its end."""
    return Running(program).wait()


def run_text(text: str) -> Ended:
    """Runs this program to its end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "main.py")
        path.write_text(text)
        return run(path)
