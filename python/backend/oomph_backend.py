"""Builds the wheel: maturin's backend, after the hollow GPU's library has been put where maturin picks up extra files.

The command finds the library in `../lib/oomph` from itself, which is where `data/lib/oomph` of a wheel ends up. Run as a
script, it only puts the library there.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
#: The folder that `tool.maturin.data` in pyproject.toml names.
PLACE = ROOT / "target" / "oomph.data" / "data" / "lib" / "oomph"


def place_library() -> None:
    """Builds `liboomph_hollow.so` and copies it."""
    command = ["cargo", "build", "--release", "--locked", "--package", "oomph-hollow", "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    files = [pathlib.Path(name) for message in messages for name in message.get("filenames", ())]
    library = next(file for file in files if file.name == "liboomph_hollow.so")
    PLACE.mkdir(parents=True, exist_ok=True)
    shutil.copy2(library, PLACE / library.name)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517."""
    place_library()
    import maturin

    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517."""
    import maturin

    return maturin.build_sdist(sdist_directory, config_settings)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """PEP 517."""
    PLACE.mkdir(parents=True, exist_ok=True)
    import maturin

    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


if __name__ == "__main__":
    place_library()
