"""Lets a process of a test see a hollow card: PyTorch's CUDA code runs, and no card is needed."""

import atexit
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).parents[2]
#: Names under which programs ask the loader for the driver and for NVML.
LINKS = ("libcuda.so.1", "libnvidia-ml.so.1")


def _built(crate):
    """A library of this workspace, built for tests."""
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--package", crate], cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "debug" / f"lib{crate.replace('-', '_')}.so"


@functools.cache
def library(crate):
    """The library of a crate: named by its variable, installed beside the command, or built."""
    word = crate.removeprefix("oomph-").upper()
    named = os.environ.get(f"OOMPH_{word}_LIB")
    if named:
        return pathlib.Path(named).resolve()
    name = f"lib{crate.replace('-', '_')}.so"
    command = os.environ.get("OOMPH") or pathlib.Path(sysconfig.get_path("scripts")) / "oomph"
    command = pathlib.Path(command).resolve().parent
    places = [command / name, command.parent / "lib" / "oomph" / name]
    return next((place for place in places if place.is_file()), None) or _built(crate)


@functools.cache
def _folder():
    """A folder with the driver's names, for as long as this process runs."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="oomph-hollow-card-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in LINKS:
        (folder / name).symlink_to(library("oomph-hollow"))
    return folder


def card(name="h200", **changes):
    """A card of the catalogue, with other figures where they are given: `card(memory_bytes=8 << 30)`."""
    return tomllib.loads((ROOT / "crates" / "oomph-card" / "cards" / f"{name}.toml").read_text()) | changes


def hollow_environment(cards=None, **more):
    """The environment of a process on a hollow card: one H200, or a list of `card()`s."""
    paths = [str(_folder()), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    environment = {
        **os.environ,
        "LD_PRELOAD": str(library("oomph-hollow")),
        "LD_LIBRARY_PATH": ":".join(paths),
        **more,
    }
    if cards is not None:
        environment["OOMPH_HOLLOW_CARDS"] = json.dumps(cards)
    return environment
