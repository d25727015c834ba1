"""Imports of installed libraries in a plan: compiled once, and without the collector."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
#: An interpreter that takes a folder for its installation, as the one that runs a plan takes its own.
PROGRAM = """
import sys
folder, package, name = sys.argv[1:]
sys.path[:0] = [folder, package]
from oomph.hollow import installed
sys.prefix = folder
installed.install()
print(__import__(name).ANSWER)
"""


@pytest.fixture
def installed(tmp_path):
    """A module of an installation, and a way to import it under the cache."""
    folder, caches = tmp_path / "installation", tmp_path / "caches"
    folder.mkdir()
    source = folder / "a_library.py"
    source.write_text("ANSWER = 1\n")

    def imported(place=folder, name="a_library"):
        environment = {**os.environ, "XDG_CACHE_HOME": str(caches), "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("PYTHONPYCACHEPREFIX", None)
        command = [sys.executable, "-c", PROGRAM, str(folder), str(ROOT / "python"), name]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=place)
        return int(done.stdout)

    return source, caches / "oomph" / "bytecode", imported


def compiled_beside(source):
    return pathlib.Path(importlib.util.cache_from_source(str(source)))


def put_in_place_of_1(path, answer):
    """Other code under the same head: what is read from here says so."""
    head = path.read_bytes()[:16]
    path.write_bytes(head + __import__("marshal").dumps(compile(f"ANSWER = {answer}", "elsewhere", "exec")))


def test_what_has_no_bytecode_is_compiled_once(installed):
    source, cache, imported = installed
    assert imported() == 1
    kept = cache / str(compiled_beside(source)).lstrip("/")
    assert kept.is_file() and not compiled_beside(source).parent.exists(), "the installation stays as it is"
    put_in_place_of_1(kept, 2)
    assert imported() == 2, "read from the cache"
    source.write_text("ANSWER = 333\n")
    assert imported() == 333, "the source has changed"


def test_what_lies_beside_the_source_comes_first(installed):
    source, cache, imported = installed
    subprocess.run([sys.executable, "-m", "py_compile", source], check=True)
    put_in_place_of_1(compiled_beside(source), 4)
    assert imported() == 4
    assert not cache.exists()
    before = compiled_beside(source).read_bytes()
    source.write_text("ANSWER = 55\n")
    assert imported() == 55
    assert compiled_beside(source).read_bytes() == before, "the installation stays as it is"


def test_modules_of_the_user_are_not_kept(installed, tmp_path):
    _, cache, imported = installed
    own = tmp_path / "project"
    own.mkdir()
    (own / "a_module.py").write_text("ANSWER = 7\n")
    assert imported(own, "a_module") == 7
    assert not cache.exists() and not (own / "__pycache__").exists()


def test_a_cache_that_cannot_be_written_is_no_error(installed):
    source, cache, imported = installed
    cache.parent.parent.write_text("a file where a folder should be\n")
    assert imported() == 1
    assert not compiled_beside(source).parent.exists()


def test_the_collector_rests_while_libraries_load_and_only_then(installed, tmp_path):
    source, _, imported = installed
    source.write_text("import gc\nANSWER = int(gc.isenabled())\n")
    assert imported() == 0
    own = tmp_path / "project"
    own.mkdir()
    # The user's own module may be the whole training.
    (own / "a_module.py").write_text("import a_library, gc\nANSWER = 10 * gc.isenabled() + a_library.ANSWER\n")
    assert imported(own, "a_module") == 10
