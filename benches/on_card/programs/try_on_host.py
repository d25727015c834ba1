"""Runs programs for a step on the host, small, so that none fails on the card for want of a file or a package.

    python try_on_host.py FOLDER SET [NAME ...]

SET is `.` for the first one. Each runs in a process forked from this one, which has imported what takes long.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import time
import traceback
from pathlib import Path

from jobs import HERE, Job, all_jobs

LIMIT_SECONDS = 240


def become(job: Job, folder: Path, log: Path) -> None:
    """The forked process turns into the program."""
    with open(log, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.setpgid(0, 0)
    environment = {**job.environment(folder), "PROGRAMS_STEPS": str(min(job.steps, 1))}
    os.environ.update(environment)
    os.chdir(job.where(folder))
    sys.path[:0] = [str(job.script(folder).parent), *environment["PYTHONPATH"].split(":")]
    sys.argv = [*job.command(folder), *job.trial]
    code = 0
    try:
        if job.module:
            sys.argv = sys.argv[1:]
            runpy.run_module(job.module, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        code = 0 if not ended.code else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)


def chosen(of_set: str, names: list[str]) -> list[Job]:
    """Those named; `1/2` takes every other one, beginning with the second."""
    every = all_jobs(of_set)
    if names and "/" in names[0]:
        at, of = map(int, names[0].split("/"))
        return every[at::of]
    return [job for job in every if not names or job.name in names]


def main() -> None:
    """One after the other; the end of what a failing one said."""
    folder, names = Path(sys.argv[1]).resolve(), sys.argv[3:]
    os.environ["PROGRAMS_TRIAL"] = "1"
    sys.path.insert(0, str(HERE / "standins"))
    import sitecustomize as ours  # noqa: F401

    if not hasattr(ours, "Finder"):
        del sys.modules["sitecustomize"]
        import sitecustomize  # noqa: F401
    import torch
    import torchvision  # noqa: F401

    torch.set_num_threads(2)
    for job in chosen(sys.argv[2], names):
        began, log = time.time(), folder / f"trial_{job.name}.log"
        child = os.fork()
        if child == 0:
            become(job, folder, log)
        status = None
        while time.time() - began < LIMIT_SECONDS:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            time.sleep(0.2)
        else:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        print(f"{job.name}: {'late' if status is None else status} after {time.time() - began:.0f} s", flush=True)
        if status != 0:
            print(log.read_text(errors="replace")[-1800:], flush=True)


if __name__ == "__main__":
    main()
