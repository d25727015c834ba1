"""Builds the wheel: maturin's backend, after what goes into it beside the command was put where maturin finds files.

The libraries for a job's processes: the command finds them in `../lib/oomph` from itself, which is where
`data/lib/oomph` of a wheel ends up. And the Python package, for scripts that `import oomph`: `purelib` of a wheel ends
up in site-packages. Run as a script, it only puts them there.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
#: The folder that `tool.maturin.data` in pyproject.toml names.
DATA = ROOT / "target" / "oomph.data"
LIBRARIES = DATA / "data" / "lib" / "oomph"
PACKAGE = DATA / "purelib" / "oomph"
#: The crates whose libraries are loaded into a job's processes.
CRATES = ("oomph-hollow", "oomph-layer", "oomph-recorder")


def place_package() -> None:
    """Copies the Python package, and nothing that an older one has left behind."""
    shutil.rmtree(PACKAGE, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "oomph", PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))


def place_libraries() -> None:
    """Builds the libraries and copies them."""
    packages = [word for crate in CRATES for word in ("--package", crate)]
    command = ["cargo", "build", "--release", "--locked", *packages, "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    files = [pathlib.Path(name) for message in messages for name in message.get("filenames", ())]
    LIBRARIES.mkdir(parents=True, exist_ok=True)
    for crate in CRATES:
        name = f"lib{crate.replace('-', '_')}.so"
        library = next(file for file in files if file.name == name)
        shutil.copy2(library, LIBRARIES / name)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517."""
    place_package()
    place_libraries()
    import maturin

    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517."""
    import maturin

    return maturin.build_sdist(sdist_directory, config_settings)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """PEP 517."""
    DATA.mkdir(parents=True, exist_ok=True)
    import maturin

    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


if __name__ == "__main__":
    place_package()
    place_libraries()
