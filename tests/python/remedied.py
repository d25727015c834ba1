"""Runs a script on the CPU with remedies put into it, as `oomph run` would put them in, and brings back what it found.

The script leaves what is to be compared in a dictionary of its own called `RESULT`: tensors, numbers, lists of them.
"""

from __future__ import annotations

import pickle
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import forking

ROOT = Path(__file__).resolve().parents[2]

_DRIVER = """
import pickle, runpy, sys
sys.path.insert(0, {package!r})
import torch
torch.set_num_threads(1)
from oomph import remedies
import oomph.remedies.models
from oomph.remedies.desk import Desk
from oomph.watching.activity import Activity
from oomph.watching.modules import Modules

told = []
desk = Desk(lambda *told_now: told.append(told_now))
desk.calls.install(remedies.models.records_graphs)


class Sink:
    recording = False
    def __getattr__(self, _name):
        return lambda *_args, **_kwargs: None


modules = Modules(Activity(), Sink(), Sink())
modules.before_call = desk.calls.about_to_call
modules.install(torch)
remedies.install(torch, {wanted!r}, desk, lambda function: function)
names = runpy.run_path({script!r}, run_name="__main__")
with open({out!r}, "wb") as file:
    pickle.dump((names["RESULT"], told), file)
"""


@dataclass
class Remedied:
    """What a script left behind."""

    #: The script's own `RESULT`.
    result: dict[str, Any]
    #: What the remedies told: name, kind (`applied`, `refused`, `note`), details.
    told: list[tuple[str, str, Any]] = field(default_factory=list)

    def of(self, kind: str) -> list[Any]:
        """The details of one kind."""
        return [details for _, told_kind, details in self.told if told_kind == kind]


def run(script: str, *wanted: dict[str, Any]) -> Remedied:
    """Runs it with these remedies."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "script.py"), Path(folder, "out.pickle")
        path.write_text(textwrap.dedent(script))
        driver = _DRIVER.format(package=str(ROOT / "python"), wanted=list(wanted), script=str(path), out=str(out))
        ended = forking.run_text(driver)
        assert ended.code == 0, ended.out + ended.err
        with out.open("rb") as file:
            return Remedied(*pickle.load(file))


def difference(left: Any, right: Any) -> float:
    """The largest relative difference of two results, each tensor measured by its own largest value."""
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        return max((difference(left[key], right[key]) for key in left), default=0.0)
    if isinstance(left, (list, tuple)):
        assert len(left) == len(right)
        return max((difference(one, other) for one, other in zip(left, right)), default=0.0)
    if hasattr(left, "numel"):
        assert left.shape == right.shape
        scale = max(float(left.abs().max()) if left.numel() else 0.0, 1e-30)
        return float((left - right).abs().max()) / scale if left.numel() else 0.0
    return abs(left - right) / max(abs(left), 1e-30)
