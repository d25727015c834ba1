"""The programs of a set's manifest.toml: what each is started with, and where.

A set is a folder here with its manifest, its data.py and its results; the first one lies in this folder itself.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
#: Nothing is asked of the network, and nothing is drawn.
OFFLINE = {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled", "TOKENIZERS_PARALLELISM": "false", "MPLBACKEND": "agg"}
#: One process of one machine, for programs that are written for several.
ALONE = {"MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0"}


@dataclass
class Job:
    """One program with its arguments."""

    name: str
    domain: str
    repository: str
    path: str
    steps: int = 4
    args: list[str] = field(default_factory=list)
    cwd: str | None = None
    #: Started with `-m` and this name instead of the path.
    module: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    python_path: list[str] = field(default_factory=list)
    #: Started as one of several processes would be.
    rank: bool = False
    #: It tries what is fastest for a long time: run when no other one is, at the end.
    alone: bool = False
    #: It compiles: started before the others, so that nothing waits for it at the end.
    slow: bool = False
    #: Arguments that make it small enough to be tried on the host.
    trial: list[str] = field(default_factory=list)

    def _filled(self, text: str, folder: Path) -> str:
        for word, put in (("$DATA", folder / "data"), ("$SOURCES", folder / "sources"), ("$HERE", HERE)):
            text = text.replace(word, str(put))
        return text

    def script(self, folder: Path) -> Path:
        """The script in the prepared folder."""
        return folder / "sources" / self.repository / self.path

    def where(self, folder: Path) -> Path:
        """The folder it is started in."""
        root = folder / "sources" / self.repository
        return root / self.cwd if self.cwd is not None else self.script(folder).parent

    def command(self, folder: Path) -> list[str]:
        """The script and its arguments."""
        started = ["-m", self.module] if self.module else [str(self.script(folder))]
        return [*started, *(self._filled(one, folder) for one in self.args)]

    def environment(self, folder: Path, standins: Path = HERE / "standins") -> dict[str, str]:
        """Everything in the environment."""
        found = [str(standins), str(folder / "packages"), *(self._filled(one, folder) for one in self.python_path)]
        given = {key: self._filled(value, folder) for key, value in self.env.items()}
        port = {"MASTER_PORT": str(20_000 + sum(map(ord, self.name)) % 9_000)}
        stated = {"PYTHONPATH": ":".join(found), "TORCH_HOME": str(folder / "data/torch_home"), "PROGRAMS_STEPS": str(self.steps)}
        ranks = {**ALONE, **port} if self.rank else {}
        return {**os.environ, **OFFLINE, **stated, **ranks, **given, "PATH": f"{folder}/data/bin:{os.environ['PATH']}"}


def all_jobs(chosen_set: str = ".") -> list[Job]:
    """Every program of a set, in the manifest's order."""
    return [Job(**facts) for facts in stated(chosen_set)["job"]]


def stated(chosen_set: str = ".") -> dict[str, Any]:
    """The manifest of a set as it stands."""
    return tomllib.loads((HERE / chosen_set / "manifest.toml").read_text())
