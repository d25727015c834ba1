"""Runs jobs for real without oomph, plans them, and compares the host's memory.

    python corpus/host/score.py [--half developed|held|blind] [--device cpu] [--only NAME ...] [--runs 3] [--at-once 1]
                                [--counted LIBRARY] [--json FILE]

Each job runs for real three times, watched from outside: that gives the resident memory of its first process (the kernel's
own peak) and the memory of all its processes with shared pages counted once. The run in the middle counts, and the least and
most of all runs are kept beside it: threads wait for one another elsewhere in every run, which leaves more or fewer holes in
the heap. A fourth run counts the memory of tensors with `counted.c`, which is loaded into it, and is not watched: the library
moves blocks in the heap (`keeps_outputs` takes 907 MB without it and 1,040 MB with it). `OOMPH` names the command, else the
one on the path.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LOOK_SECONDS = 0.01


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", choices=["developed", "held", "blind", "second_blind"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--runs", type=int, default=3, help="real runs of a job that are watched")
    parser.add_argument("--at-once", type=int, default=1, help="jobs that are run side by side, where there is room")
    parser.add_argument("--counted", help="the library that counted.c makes, where there is no compiler")
    parser.add_argument("--json", type=Path, help="real figures are read from here where they are there, and written")
    options = parser.parse_args()
    known = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    print(f"{'job':24}{'real':>8}{'plan':>8}{'':>8}{'process':>9}{'plan':>8}{'':>8}{'tensors':>9}{'plan':>8}")
    jobs = tomllib.loads((HERE / "jobs.toml").read_text())["job"]
    chosen = [job for job in jobs if options.half in (None, job["half"]) and (not options.only or job["name"] in options.only)]
    with ThreadPoolExecutor(options.at_once) as pool:
        pending = [pool.submit(compared, job, known.get(job["name"], {}), options) for job in chosen]
        for done in as_completed(pending):
            name, row = done.result()
            known[name] = row
            show(name, row)
            if options.json:
                options.json.write_text(json.dumps(known, indent=1))


def compared(job: dict[str, Any], known: dict[str, Any], options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """A job's real figures, where they are not known, and its plan's."""
    words = [str(HERE / "jobs" / f"{job.get('script', job['name'])}.py"), "--device", options.device]
    words += job.get("arguments", [])
    measured = known.get("real") or real(words, options.runs, options.counted)
    return job["name"], {"half": job["half"], "real": measured, "plan": plan(words)}


def show(name: str, row: dict[str, Any]) -> None:
    measured, planned = row["real"], row["plan"]
    if "peak_bytes" not in planned:
        print(f"{name:24} {planned}")
        return
    line = f"{name:24}"
    for key in ("peak_bytes", "process_bytes", "tensor_bytes"):
        both = measured.get(key, 0), planned[key]
        difference = 100 * (both[1] / both[0] - 1) if both[0] else 0.0
        line += f"{both[0] / 1e6:8.0f}{both[1] / 1e6:8.0f}{difference:+7.1f}%"
    print(line, flush=True)


def plan(words: list[str]) -> dict[str, Any]:
    """The plan's figures."""
    command = [os.environ.get("OOMPH", "oomph"), "plan", "--json", "--python", sys.executable, *words]
    began = time.monotonic()
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode not in (0, 1):
        return {"error": ended.stderr[-2000:]}
    return {**json.loads(ended.stdout)["host"], "seconds": round(time.monotonic() - began, 1)}


def real(words: list[str], count: int, counted: str | None = None) -> dict[str, Any]:
    """The job's own figures."""
    runs = sorted((watched(words) for _ in range(count)), key=lambda figures: figures["peak_bytes"])
    peaks = [figures["peak_bytes"] for figures in runs]
    return {**runs[len(runs) // 2], "peaks_bytes": peaks, "tensor_bytes": tensor_bytes(words, counted)}


def watched(words: list[str]) -> dict[str, Any]:
    """One run, watched from outside."""
    began = time.monotonic()
    job = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    watch = Watch(job.pid)
    message = job.stderr.read() if job.stderr else b""
    _, status, usage = os.wait4(job.pid, 0)
    job.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    watch.end()
    # Libraries read files when the process ends, after any look: only the kernel has seen all of it.
    watch.process_bytes = max(watch.process_bytes, usage.ru_maxrss * 1024)
    if job.returncode:
        raise SystemExit(f"{words}: {message.decode()[-2000:]}")
    return {**watch.figures(), "seconds": round(seconds, 1)}


def tensor_bytes(words: list[str], counted: str | None = None) -> int:
    """What tensors hold at most, in a run that counts them."""
    with tempfile.TemporaryDirectory() as folder:
        library, told = counted or f"{folder}/counted.so", f"{folder}/counted"
        if counted is None:
            options = ["-O2", "-shared", "-fPIC", "-ldl", "-lpthread"]
            subprocess.run(["cc", HERE / "counted.c", "-o", library, *options], check=True)
        environment = {**os.environ, "LD_PRELOAD": library, "COUNTED": told}
        subprocess.run([sys.executable, *words], env=environment, capture_output=True, check=True)
        return int(Path(told).read_text())


class Watch:
    """Looks at a process and all below it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.process_bytes = 0
        self.peak_bytes = 0
        self.proportional_bytes = 0
        self._is_over = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        self._is_over = True
        self._thread.join()

    def figures(self) -> dict[str, int]:
        # Between two looks the first process may have had more than was seen.
        peak_bytes = max(self.peak_bytes, self.process_bytes)
        return {"peak_bytes": peak_bytes, "process_bytes": self.process_bytes, "pss_bytes": self.proportional_bytes}

    def _run(self) -> None:
        while not self._is_over:
            began = time.monotonic()
            self._look()
            # Whoever looks at the pages of a process keeps it from getting more.
            time.sleep(max(LOOK_SECONDS, 3 * (time.monotonic() - began)))

    def _look(self) -> None:
        main = fields(f"/proc/{self.pid}/status")
        self.process_bytes = max(self.process_bytes, main.get("VmHWM", 0))
        family = descendants(self.pid)
        if len(family) == 1:
            self.peak_bytes = max(self.peak_bytes, main.get("VmRSS", 0))
            return
        parts = [fields(f"/proc/{pid}/smaps_rollup") for pid in family]
        own = sum(part.get("Pss_Anon", 0) for part in parts)
        # Batches on their way from a worker are shared memory that no process has mapped.
        shared = max(sum(part.get("Pss_Shmem", 0) for part in parts), open_shared_memory_bytes(family))
        self.peak_bytes = max(self.peak_bytes, own + shared + main.get("RssFile", 0))
        self.proportional_bytes = max(self.proportional_bytes, sum(part.get("Pss", 0) for part in parts))


def fields(path: str) -> dict[str, int]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            pairs = [line.split(":", 1) for line in file if line.endswith("kB\n")]
    except OSError:
        return {}
    return {name: int(value.split()[0]) * 1024 for name, value in pairs}


def open_shared_memory_bytes(family: list[int]) -> int:
    """Shared memory that processes have open, each file once. The machine's own sum has that of other jobs too."""
    sizes = {}
    for pid in family:
        try:
            for name in os.listdir(f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{name}"
                if os.readlink(path).startswith("/dev/shm/"):
                    status = os.stat(path)
                    sizes[status.st_ino] = status.st_blocks * 512
        except OSError:
            continue
    return sum(sizes.values())


def descendants(root: int) -> list[int]:
    found = [root]
    for pid in found:
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                    found += [int(word) for word in file.read().split()]
        except OSError:
            continue
    return found


if __name__ == "__main__":
    main()
