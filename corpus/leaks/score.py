"""Says which of the leaking jobs beside this file `oomph run` names, and where it raises a false alarm.

Every job runs on a hollow card, for 30 iterations. A leak is found if a line is named that is marked `# leak`: one that
makes what is kept, calls what makes it, or keeps it. A healthy job must be let off without a word.

    OOMPH=target/release/oomph python corpus/leaks/score.py [--batch a|b|c] [--jobs N] [--truth] [NAME ...]

With --truth nothing is named: it measures that the leaking jobs grow and the healthy ones do not, without oomph.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "python"))
from hollow_card import hollow_environment  # noqa: E402

STEPS = 30
#: More iterations show better whether something grows.
TRUTH_STEPS = 60
SECONDS_MAX = 900
#: What a leaking job must add in each iteration, and a healthy one may seem to: allocators and ragged batches waver.
LEAK_BYTES_MIN = 1_000_000
HEALTHY_BYTES_MAX = 500_000


@dataclass(frozen=True)
class Job:
    """One script."""

    path: pathlib.Path

    @property
    def name(self) -> str:
        """Its batch, kind and name."""
        return "/".join([*self.path.parts[-3:-1], self.path.stem])

    @property
    def leaks(self) -> bool:
        """Whether it is one of those that leak."""
        return self.path.parent.name == "leaking"

    @property
    def marked_lines(self) -> set[int]:
        """The lines that may be named."""
        lines = self.path.read_text().splitlines()
        return {number for number, line in enumerate(lines, 1) if line.endswith("# leak")}


def jobs(batch: str = "*") -> list[Job]:
    """All scripts of a batch, or of all."""
    return [Job(path) for path in sorted(HERE.glob(f"{batch}/*/*.py"))]


def account_of(job: Job, oomph: pathlib.Path, folder: pathlib.Path) -> dict:
    """Runs a job under `oomph run` and returns its account."""
    boxes = folder / "boxes"
    boxes.mkdir(mode=0o700)
    environment = hollow_environment(STEPS=str(STEPS), OOMPH_BOXES=str(boxes), XDG_STATE_HOME=str(folder / "state"))
    command = [oomph, "run", "--python", sys.executable, "--json", folder / "account.json", job.path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX)
    if done.returncode != 0:
        raise RuntimeError(f"{job.name} failed:\n{done.stderr}")
    return json.loads((folder / "account.json").read_text())


def named(account: dict) -> list[tuple[str, int]]:
    """Every line that the account says keeps memory, file by its last part."""
    verdict = account["verdict"] or {}
    found = [verdict] if verdict.get("class") in ("leak", "growth") else []
    found += account["host_leaks"]
    return [(pathlib.Path(place["file"] or "?").name, place["line"]) for place in found]


def problem(job: Job, oomph: pathlib.Path) -> str | None:
    """What is wrong with what `oomph run` says of a job; None if nothing is."""
    with tempfile.TemporaryDirectory(prefix="oomph-leaks-") as folder:
        try:
            places = named(account_of(job, oomph, pathlib.Path(folder)))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return str(error)
    shown = ", ".join(f"{file}:{line}" for file, line in places) or "nothing"
    if not job.leaks:
        return f"{job.name} is healthy, but named is {shown}" if places else None
    wanted = {(job.path.name, line) for line in job.marked_lines}
    lines = sorted(job.marked_lines)
    return None if wanted.intersection(places) else f"{job.name} leaks at one of {lines}, but named is {shown}"


def untruth(job: Job) -> str | None:
    """Says if a job that should grow does not, or the other way round."""
    command = [sys.executable, HERE / "measure.py", job.path]
    environment = hollow_environment(STEPS=str(TRUTH_STEPS))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX)
    if done.returncode != 0:
        return f"{job.name} failed:\n{done.stderr}"
    series = json.loads(done.stderr.splitlines()[-1])
    rates = {where: bytes_per_iteration(values) for where, values in series.items()}
    grows = max(rates.values())
    is_true = grows >= LEAK_BYTES_MIN if job.leaks else grows <= HEALTHY_BYTES_MAX
    return None if is_true else f"{job.name} grows by {rates} bytes an iteration"


def bytes_per_iteration(values: list[int]) -> float:
    """The slope of a series after its first third, as most pairs of its points see it."""
    points = list(enumerate(values))[len(values) // 3 :]
    slopes = [(b - a) / (j - i) for at, (i, a) in enumerate(points) for j, b in points[at + 1 :]]
    return statistics.median(slopes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="such as a/leaking/running_loss; all without")
    parser.add_argument("--batch", default="*", choices=["a", "b", "c", "*"])
    parser.add_argument("--jobs", type=int, default=1, help="how many run at once")
    parser.add_argument("--truth", action="store_true", help="measure the scripts and not oomph")
    args = parser.parse_args()
    chosen = [job for job in jobs(args.batch) if not args.names or job.name in args.names]
    oomph = pathlib.Path(os.environ.get("OOMPH") or pathlib.Path(sys.executable).parent / "oomph")
    check = untruth if args.truth else lambda job: problem(job, oomph)
    problems = []
    with ThreadPoolExecutor(args.jobs) as pool:
        # Said at once: a run of all takes long, and may be ended before it is through.
        for found in pool.map(check, chosen):
            problems.append(found)
            if found:
                print(found, flush=True)
    for kind, leaks in (("leaking", True), ("healthy", False)):
        of_kind = [found for job, found in zip(chosen, problems) if job.leaks == leaks]
        print(f"{kind}: {of_kind.count(None)} of {len(of_kind)} right")
    return passes(chosen, problems)


def passes(chosen: list[Job], problems: list[str | None]) -> int:
    """0 where at least 95 of 100 leaks are named and no healthy job is."""
    leaks = [found is None for job, found in zip(chosen, problems) if job.leaks]
    alarms = [found for job, found in zip(chosen, problems) if not job.leaks and found]
    return 0 if sum(leaks) >= 0.95 * len(leaks) and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
