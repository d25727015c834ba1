"""What every Python test shares: the installed command and the recorded snapshots."""

import json
import os
import pathlib
import subprocess
import sysconfig
import textwrap

import pytest

ROOT = pathlib.Path(__file__).parents[2]
CORPUS = ROOT / "corpus" / "h200"


class Oomph:
    """The command as `pip install` puts it beside the interpreter."""

    path = pathlib.Path(os.environ.get("OOMPH") or pathlib.Path(sysconfig.get_path("scripts")) / "oomph")

    def __call__(self, *args):
        """Runs it; returns exit code, stdout and stderr."""
        done = subprocess.run([self.path, *map(str, args)], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def json(self, *args):
        """Runs it with --json and returns what it printed."""
        code, out, err = self(*args, "--json")
        assert (code, err) == (0, ""), err
        return json.loads(out)


@pytest.fixture(scope="session")
def oomph():
    assert Oomph.path.exists(), "run `make setup` first"
    return Oomph()


def corpus_lines(name):
    """The objects of one of the corpus's .jsonl files."""
    with open(CORPUS / name) as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture
def script(tmp_path):
    """Writes a script and returns its path."""

    def write(text, name="job.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def planned(oomph):
    """Runs a plan and returns its JSON."""

    def plan(*args, code=0):
        found, out, err = oomph("plan", "--json", *args)
        assert found == code, err
        return json.loads(out)

    return plan
