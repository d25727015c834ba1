"""Holds plans of rank 0 of many against a real card on which PyTorch's fake process group stands in for the others.

    python ranks.py card > card.jsonl                     on a machine with a card; needs torch alone, some two minutes
    python ranks.py plan [--backend nccl] > plan.jsonl    anywhere; `oomph` on the path, or OOMPH names it
    python ranks.py compare card.jsonl plan.jsonl

`h200.jsonl` is what an H200 said. Every line is one job: its
name, how many ranks it has, both peaks in bytes, or what went wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback
from typing import Any

HERE = pathlib.Path(__file__).parent
#: No job takes so long on a card.
JOB_SECONDS = 60
PLAN_SECONDS = 200


def on_card(names: list[str]) -> None:
    """Measures every job in a process of its own, forked after torch is imported and before CUDA is touched."""
    sys.path.insert(0, str(HERE))
    import jobs
    from torch.testing._internal.distributed import fake_pg  # noqa: F401 - slow to import: once for all

    for name in names or list(jobs.JOBS):
        sys.stdout.flush()
        child = os.fork()
        if not child:
            signal.alarm(JOB_SECONDS)
            began = time.monotonic()
            try:
                told = {**jobs.run(name), "seconds": round(time.monotonic() - began, 1)}
            except Exception as problem:  # noqa: BLE001 - the other jobs are still worth measuring
                traceback.print_exc()
                told = {"job": name, "error": f"{type(problem).__name__}: {problem}".splitlines()[0]}
            print(json.dumps(told), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            print(json.dumps({"job": name, "error": f"ended with status {status}"}), flush=True)


def plan_all(names: list[str], backend: str, gpu: str, python: str) -> None:
    """Plans every job."""
    sys.path.insert(0, str(HERE))
    if not names:
        listed = subprocess.run([python, str(HERE / "jobs.py")], capture_output=True, text=True, check=True)
        names = listed.stdout.split()
    for name in names:
        words = [os.environ.get("OOMPH", "oomph"), "plan", "--json", "--gpu", gpu, "--python", python]
        began = time.monotonic()
        try:
            done = subprocess.run(
                [*words, str(HERE / "jobs.py"), name, backend], capture_output=True, text=True, timeout=PLAN_SECONDS
            )
            told = _told(name, done)
        except subprocess.TimeoutExpired:
            told = {"job": name, "error": f"took more than {PLAN_SECONDS} seconds"}
        print(json.dumps({**told, "backend": backend, "seconds": round(time.monotonic() - began, 1)}), flush=True)


def _told(name: str, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    if done.returncode not in (0, 1) or not done.stdout:
        lines = [line for line in done.stderr.splitlines() if line.startswith("error")] or done.stderr.splitlines()[-1:]
        return {"job": name, "error": " ".join(lines)}
    answer = json.loads(done.stdout)
    peaks = {kind: answer[f"peak_{kind}"] for kind in ("allocated_bytes", "reserved_bytes")}
    return {"job": name, **peaks, "categories": answer["categories"], "peak_at": answer["peak_at"]}


def compare(card: pathlib.Path, plan: pathlib.Path) -> None:
    """Prints how far off each plan is, in per cent, and how many are within a tenth of one."""
    measured, planned = ({job["job"]: job for job in map(json.loads, path.open())} for path in (card, plan))
    kinds = ("allocated_bytes", "reserved_bytes")
    close = dict.fromkeys(kinds, 0)
    print(f"{'job':28}{'ranks':>6}{'allocated':>14}{'off %':>9}{'reserved':>14}{'off %':>9}")
    for name, truth in measured.items():
        found = planned.get(name, {"error": "not planned"})
        problem = truth.get("error") or found.get("error")
        if problem:
            print(f"{name:28}{truth.get('world_size', ''):>6}  {problem}")
            continue
        shown = f"{name:28}{truth['world_size']:>6}"
        for kind in kinds:
            off = 100 * (found[kind] - truth[kind]) / truth[kind]
            close[kind] += abs(off) <= 0.1
            shown += f"{truth[kind]:>14}{off:>+9.3f}"
        print(shown)
    shown = ", ".join(f"{kind.split('_')[0]} {count}" for kind, count in close.items())
    print(f"within 0.1 % of the card, of {len(measured)} jobs: {shown}")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("card").add_argument("jobs", nargs="*")
    planning = verbs.add_parser("plan")
    planning.add_argument("jobs", nargs="*")
    planning.add_argument("--backend", default="fake", help="how the job finds its ranks in the plan: fake or nccl")
    planning.add_argument("--gpu", default="h200")
    planning.add_argument("--python", default=sys.executable)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("card", type=pathlib.Path)
    comparing.add_argument("plan", type=pathlib.Path)
    given = parser.parse_args()
    if given.verb == "card":
        on_card(given.jobs)
    elif given.verb == "plan":
        plan_all(given.jobs, given.backend, given.gpu, given.python)
    else:
        compare(given.card, given.plan)


if __name__ == "__main__":
    main()
