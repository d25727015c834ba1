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

#: Files whose tests take minutes. They begin first, so that no worker is left alone with one of them in the end.
LONGEST = (
    "test_plan_jobs", "test_run_endings", "test_fit", "test_leaks", "test_run", "test_ranks_pipeline", "test_plan_host_memory",
    "test_values", "test_fixes_hold", "test_plan_walk_measured", "test_remedies_micro_batches_frameworks", "test_plan_walk",
)


def pytest_collection_modifyitems(items):
    """Files in this order, and the others as they come."""
    order = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


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
