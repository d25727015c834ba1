"""Programs of this workspace that only tests need."""

import functools
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parents[2]


@functools.cache
def example(name):
    """An example program, built once.

    Of the whole workspace: for one package alone, cargo would compile what it depends on again, with fewer features.
    """
    command = ["cargo", "build", "--quiet", "--locked", "--workspace", "--example", name]
    subprocess.run(command, cwd=ROOT, check=True)
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "examples" / name
