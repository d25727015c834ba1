"""Runs of a search that are forked after the script's imports: as if each had been a process of its own."""

import json
import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from oomph.standing import with_call

SCRIPT = """
import os
STARTED_AS = os.getpid()
import torch
from torch import nn
from torch.nn.functional import cross_entropy
{extra}
from torch.utils.data import DataLoader

print("begun:", "forked" if os.getpid() != STARTED_AS else "own", flush=True)
assert not os.path.exists("written.txt"), "no run finds what another has written"
open("written.txt", "w").write("something")
width = 1024
blocks = [nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(8)]
model = nn.Sequential(*blocks).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(6):
    x, y = torch.randn(4096, width, device="cuda"), torch.zeros(4096, dtype=torch.long, device="cuda")
    cross_entropy(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def fitted(oomph, folder: Path, extra: str = "") -> tuple[dict, list[str]]:
    """The answer, and how each run came about."""
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT.format(extra=extra))
    options = ["--python", sys.executable, "--json", "--fit", "--show-output", "--memory", "2200MiB"]
    code, out, err = oomph("plan", *options, folder / "train.py")
    assert code == 0, err[-2000:]
    return json.loads(out), [line.split()[1] for line in err.splitlines() if line.startswith("begun:")]


@pytest.mark.parametrize(
    "source",
    [
        "import a\nimport b  # why\nprint(1)\n",
        "from a import (\n  b,\n  c,\n)\nx = 1\n",
        "'''text'''\nimport a; import b; c = 1\n",
        "import a\r\nx = 1\r\n",
    ],
)
def test_the_call_comes_after_the_last_import_and_moves_no_line(source: str):
    prepared = with_call(source.encode())
    assert prepared is not None and prepared.count(b"\n") == source.count("\n")
    compile(prepared, "train.py", "exec")
    assert prepared.decode().replace("; __oomph_stand__()", "") == source


@pytest.mark.parametrize("source", ["x = 1\n", "def f():\n    import a\n", "import a\rx = 1\r", "not python"])
def test_where_there_is_no_such_place_nothing_is_changed(source: str):
    assert with_call(source.encode()) is None


def test_forks_come_to_the_same_as_processes_of_their_own(oomph, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    first, runs = fitted(oomph, tmp_path / "forked")
    # A thread that the script starts with its imports would not be in the forks.
    second, others = fitted(oomph, tmp_path / "own", textwrap.dedent("""
        import threading, time
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    """))
    assert len(runs) >= 3 and runs == ["forked"] * (len(runs) - 1) + ["own"], "the proof is a process of its own"
    assert others == ["own"] * len(runs)
    for key in ("choices", "peak_allocated_bytes", "peak_reserved_bytes", "predicted_slowdown", "candidates"):
        assert first["fit"][key] == second["fit"][key], key
    assert first["with_room"] == second["with_room"]
    assert not (tmp_path / "written.txt").exists(), "a plan leaves nothing behind"
