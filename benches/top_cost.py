"""What `oomph top` costs while it looks: share of a core and memory, at one look a second.

Targets: at most 1 % of a core and 30 MB. A job that trains on a hollow card is looked at, from outside and on its page.
Release builds are what counts: `OOMPH=target/release/oomph python benches/top_cost.py`, or the installed command.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from conftest import Oomph  # noqa: E402
from hollow_card import hollow_environment  # noqa: E402
from terminal import Terminal  # noqa: E402

CPU_PERCENT_MAX = 1.0
MEMORY_MB_MAX = 30.0
JOB = """
import torch, time
layers = [torch.nn.Linear(1024, 1024) for _ in range(48)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.AdamW(model.parameters())
while True:
    model(torch.randn(64, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.05)
"""


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid):
    """Resident now, and at most so far."""
    with open(f"/proc/{pid}/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return tuple(int(fields[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "VmHWM"))


def measure(terminal, seconds):
    """Share of a core, and memory between two looks and at most."""
    end = time.monotonic() + 3
    while time.monotonic() < end:
        terminal.read()
    before, began, resident = cpu_seconds(terminal.pid), time.monotonic(), 0.0
    while time.monotonic() < began + seconds:
        terminal.read()
        resident = max(resident, memory_mb(terminal.pid)[0])
    passed = time.monotonic() - began
    return 100 * (cpu_seconds(terminal.pid) - before) / passed, resident, memory_mb(terminal.pid)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    seconds = parser.parse_args().seconds
    oomph = Oomph()
    is_good = True
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "train.py").write_text(JOB)
        environment = {
            **hollow_environment(),
            "OOMPH_BOXES": folder,
            "OOMPH_HOLLOW_LEDGER": os.path.join(folder, "ledger"),
        }
        command = [oomph.path, "run", "--python", sys.executable, os.path.join(folder, "train.py")]
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        with subprocess.Popen(command, env=environment, **quiet) as job:
            try:
                for page, keys in [("overview", ""), ("page of a job", "\r")]:
                    with Terminal([oomph.path, "top"], 120, 40, environment) as terminal:
                        terminal.wait_for("train.py", "running", seconds=60)
                        terminal.press(keys)
                        cpu_percent, resident_mb, peak_mb = measure(terminal, seconds)
                    memory = f"{resident_mb:5.1f} MB resident, at most {peak_mb:5.1f} MB"
                    print(f"{page:15} {cpu_percent:5.2f} % of a core, {memory}")
                    is_good &= cpu_percent <= CPU_PERCENT_MAX and peak_mb <= MEMORY_MB_MAX
            finally:
                job.terminate()
    print("within the targets" if is_good else f"targets: {CPU_PERCENT_MAX} % of a core, {MEMORY_MB_MAX} MB")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
