"""Runs the programs on a real card, some at a time, and writes what PyTorch's allocator saw.

    python measure.py FOLDER OUT [--at-once 5] [--limit 60] [--seconds 300] [--set second] [NAME ...]

OUT/h200.jsonl gets a line a program as soon as it has ended; OUT/failed.log the last words of those that failed. When all
are through and time is left, they are run again: what differs then is not determined by the program.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jobs import Job, all_jobs

WRITING = threading.Lock()


def run(job: Job, folder: Path, limit_seconds: float) -> tuple[dict[str, Any], str]:
    """One program to its end; what it left, and its last words."""
    with tempfile.TemporaryDirectory() as own:
        told, said = Path(own) / "told.json", Path(own) / "said.log"
        environment = {**job.environment(folder), "PROGRAMS_OUT": str(told), "OMP_NUM_THREADS": "3"}
        began = time.time()
        with open(said, "w") as log:
            command = [sys.executable, *job.command(folder)]
            process = subprocess.Popen(command, cwd=job.where(folder), env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                code: int | str = process.wait(limit_seconds)
            except subprocess.TimeoutExpired:
                code = "late"
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
        facts: dict[str, Any] = {"name": job.name, "status": code, "wall_seconds": round(time.time() - began, 1)}
        if told.exists():
            facts.update(json.loads(told.read_text()))
        else:
            facts["end"] = f"nothing written, status {code}"
        if code not in (0, "late") and facts["end"] == "ok":
            facts["end"] = f"status {code}"
        return facts, said.read_text(errors="replace")[-3000:]


def main() -> None:
    """All of them, then again while there is time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--set", default=".")
    parser.add_argument("--at-once", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=300)
    given = parser.parse_args()
    began, folder = time.time(), given.folder.resolve()
    jobs = [job for job in all_jobs(given.set) if not given.names or job.name in given.names]
    together, single = sorted((job for job in jobs if not job.alone), key=lambda job: not job.slow), [job for job in jobs if job.alone]

    def left() -> float:
        return given.seconds - (time.time() - began)

    def one(job: Job, turn: int, limit_seconds: float) -> None:
        if left() < 5:
            return
        facts, said = run(job, folder, min(limit_seconds, left()))
        with WRITING:
            with open(given.out / "h200.jsonl", "a") as file:
                file.write(json.dumps({**facts, "turn": turn}) + "\n")
            if facts["end"] != "ok" or "peak_allocated_bytes" not in facts:
                with open(given.out / "failed.log", "a") as file:
                    file.write(f"==== {job.name} {facts['end']}\n{said}\n")
            peak = facts.get("peak_allocated_bytes", 0) >> 20
            print(f"{time.time() - began:5.0f} s  {job.name}: {facts['end'][:80]} {peak} MiB in {facts['wall_seconds']} s", flush=True)

    for turn in (1, 2):
        with ThreadPoolExecutor(given.at_once) as pool:
            list(pool.map(lambda job: one(job, turn, (1.5 if job.slow else 1) * given.limit), together))
        for job in single if turn == 1 else []:
            one(job, turn, 1.5 * given.limit)


if __name__ == "__main__":
    main()
