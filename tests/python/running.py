"""What the tests of `oomph run` share: jobs on a hollow card, run plainly and recorded."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

from hollow_card import hollow_environment

OOMPH_SECONDS = 240


@dataclasses.dataclass
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str
    account: dict | None
    boxes: list[pathlib.Path]


def plainly(script, *words, **more):
    """Runs a script as everybody does."""
    done = subprocess.run(
        [sys.executable, str(script), *words], env=hollow_environment(**more), capture_output=True, text=True,
        timeout=OOMPH_SECONDS,
    )
    return Ran(done.returncode, done.stdout, done.stderr, None, [])


def start(oomph, folder, *words, options=(), environment=None, **popen):
    """Starts `oomph run`; the job's boxes and its account go to a folder of the test's own."""
    folder = pathlib.Path(folder)
    boxes = folder / "boxes"
    boxes.mkdir(mode=0o700, exist_ok=True)
    environment = {**hollow_environment(), "OOMPH_BOXES": str(boxes), "XDG_STATE_HOME": str(folder / "state"), **(environment or {})}
    command = [str(oomph.path), "run", "--python", sys.executable, "--json", str(folder / "account.json"), *options]
    return subprocess.Popen([*command, *map(str, words)], env=environment, text=True, **popen)


def recorded(oomph, folder, *words, stdin=None, seconds=OOMPH_SECONDS, **more):
    """Runs `oomph run` to its end."""
    folder = pathlib.Path(folder)
    process = start(oomph, folder, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    out, err = process.communicate(stdin, timeout=seconds)
    return Ran(process.returncode, out, err, account_in(folder), boxes_in(folder))


def account_in(folder):
    """The account that `--json` wrote; None if there is none."""
    path = pathlib.Path(folder) / "account.json"
    return json.loads(path.read_text()) if path.exists() else None


def boxes_in(folder):
    """The boxes of every job there."""
    return sorted((pathlib.Path(folder) / "boxes").glob("*/*.box"), key=os.path.getmtime)
