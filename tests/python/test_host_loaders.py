"""Loaders with workers, and checkpoints: what is told of them, and that nothing else changes."""

import json
import subprocess
import sys
import textwrap

import pytest

from conftest import ROOT

PRELUDE = f"""
    import json, os, sys
    sys.path.insert(0, {str(ROOT / "python")!r})
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, Dataset
    from oomph.watching.loaders import Loaders

    def write(kind, facts):
        print(json.dumps([os.getpid() == MAIN, kind, facts]), flush=True)

    MAIN = os.getpid()
    if os.environ.get("WATCHED") == "1":
        loaders = Loaders(write, lambda: None)
        loaders.install(torch)
        sys.addaudithook(loaders.on_event)
"""


def run(tmp_path, body, watched=True, code=0):
    """Runs a script; returns what was told, the path, and its standard error."""
    path = tmp_path / "job.py"
    path.write_text(textwrap.dedent(PRELUDE) + textwrap.dedent(body))
    environment = {"PATH": "/usr/bin:/bin", "WATCHED": "1" if watched else "0"}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], path, done.stderr


def line_of(path, marker):
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if line.endswith(marker))


GROWS = """
    class Clips(Dataset):
        def __init__(self):
            self.history = []

        def __len__(self):
            return 160

        def __getitem__(self, index):
            self.history.append({decode})  # leak
            return torch.zeros(4)

    if __name__ == "__main__":
        for batch in DataLoader(Clips(), batch_size=4, num_workers=2, prefetch_factor=3{context}):  # loop
            pass
"""


@pytest.mark.parametrize("decode", ["np.random.rand(64_000)", "torch.rand(128_000)", "[float(i) for i in range(20_000)]"])
def test_a_data_set_that_grows_in_its_workers_is_named_with_its_line(tmp_path, decode):
    told, path, _ = run(tmp_path, GROWS.format(decode=decode, context=""))
    loop = {"file": str(path), "line": line_of(path, "# loop"), "workers": 2, "prefetch_factor": 3}
    assert [is_main for is_main, kind, _ in told if kind == "loader"] == [True]
    assert loop.items() <= told[0][2].items()
    grown = [(is_main, facts) for is_main, kind, facts in told if kind == "host_growth"]
    assert len(grown) == 2, told
    for is_main, facts in grown:
        assert (is_main, facts["file"], facts["line"]) == (False, str(path), line_of(path, "# leak"))
        assert facts["bytes_per_step"] > 1_500_000


def test_workers_that_are_spawned_work_as_ever(tmp_path):
    told, path, _ = run(tmp_path, GROWS.format(decode="np.zeros(8)", context=', multiprocessing_context="spawn"'))
    assert told == []


HEALTHY = """
    class Ragged(Dataset):
        def __len__(self):
            return 400

        def __getitem__(self, index):
            return torch.ones(1000 + 977 * (index * 7919 % 97))

    if __name__ == "__main__":
        for epoch in range(2):
            for batch in DataLoader(Ragged(), batch_size=4, num_workers=2, collate_fn=list, persistent_workers=True):
                pass
"""


def test_healthy_workers_tell_nothing(tmp_path):
    told, _, _ = run(tmp_path, HEALTHY)
    assert {kind for _, kind, _ in told} == {"loader"}, told


RAISES = """
    class Broken(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            raise KeyError(index)

    if __name__ == "__main__":
        list(DataLoader(Broken(), num_workers=1))
"""


def test_what_a_data_set_raises_looks_the_same(tmp_path):
    _, _, plain = run(tmp_path, RAISES, watched=False, code=1)
    _, _, watched = run(tmp_path, RAISES, code=1)
    assert "KeyError: 0" in plain
    assert watched == plain


def test_large_checkpoints_are_told_when_they_are_loaded(tmp_path):
    told, path, _ = run(tmp_path, """
        torch.save({"weight": torch.zeros(20_000_000)}, "large.pt")
        torch.save({"weight": torch.zeros(2)}, "small.pt")
        for _ in range(2):
            torch.load("large.pt")  # load
        torch.load("small.pt")
        os.remove("large.pt"), os.remove("small.pt")
    """.replace('"large.pt"', f'"{tmp_path}/large.pt"').replace('"small.pt"', f'"{tmp_path}/small.pt"'))
    assert [(kind, facts["file"], facts["line"]) for _, kind, facts in told] == [
        ("load", str(path), line_of(path, "# load"))
    ]
    assert told[0][2]["bytes"] >= 80_000_000
