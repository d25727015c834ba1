"""Puts the programs' sources into a folder that can travel to a machine with a card.

    python prepare.py FOLDER --mirror CLONES [--set second] [--packages]

Sources come out of bare clones (one folder OWNER+NAME/repo each) at the commits that the set's manifest.toml names; FOLDER also
gets a copy of this folder, so that `bash FOLDER/programs/run.sh OUT` is all that is to be done there. Data are made where they
are needed (data.py). `--packages` installs the few pure-Python packages that the programs import besides.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from jobs import HERE, stated

#: What programs read besides their own Python files.
KEPT = (".py", ".txt", ".toml", ".yaml", ".yml", ".json", ".cites", ".tiktoken", ".npz", ".cfg")


def git_folder(mirror: Path, name: str) -> Path:
    """Some clones are bare, some have a work tree."""
    folder = mirror / name / "repo"
    return folder / ".git" if (folder / ".git").is_dir() else folder


def check_out(repositories: dict[str, Any], mirror: Path, to: Path) -> None:
    """Writes the files of each repository that the clone has; large ones may be missing from it."""
    for name, repository in repositories.items():
        git = ["git", f"--git-dir={git_folder(mirror, name)}"]
        tree = [*git, "ls-tree", "-r", repository["commit"], *repository.get("folders", [])]
        listed = subprocess.run(tree, capture_output=True, text=True, errors="replace", check=True).stdout
        for line in listed.splitlines():
            facts, path = line.split("\t", 1)
            kind, identity = facts.split()[1:3]
            if kind != "blob" or not path.endswith(KEPT):
                continue
            shown = subprocess.run([*git, "cat-file", "blob", identity], capture_output=True)
            if shown.returncode == 0 and len(shown.stdout) < 2_000_000:
                target = to / name / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(shown.stdout)


def main() -> None:
    """Sources, packages, and what runs there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--set", default=".")
    parser.add_argument("--packages", action="store_true")
    given = parser.parse_args()
    manifest = stated(given.set)
    check_out(manifest["repository"], given.mirror, given.folder / "sources")
    shutil.copytree(HERE, given.folder / "programs", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    if given.packages:
        target = ["--target", str(given.folder / "packages"), "--no-deps", *manifest["packages"]]
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *target], check=True)


if __name__ == "__main__":
    main()
