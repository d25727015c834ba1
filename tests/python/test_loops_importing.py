"""Which files are watched: the user's and the few of libraries that drive loops, compiled anew each time."""

import json
import os
import subprocess
import sys

import pytest

from conftest import ROOT

MODULE = """
def work(activity):
    done = 0
    for i in range(100):
        activity.steps += 1
        done += 1
    return done
"""
PROGRAM = """
import json, os, sys
sys.path[:0] = sys.argv[1:4]
from oomph.watching.activity import Activity
from oomph.watching.loops import Loops

class Recorder:
    recording = False
    def mark(self, name, stage): pass

reports = []
loops = Loops(activity := Activity(), Recorder(), reports.append, True)
loops.install()
import users, libraries_own, fastai.learner
result = {"done": [module.work(activity) for module in (users, libraries_own, fastai.learner)]}
result["lines"] = [(os.path.basename(facts["file"]), facts["line"]) for facts in loops.listing()]
result["early"] = loops.ended_early()
result["reports"] = len(reports)
child = os.fork()
if not child:
    os._exit(users.work(activity))
result["fork"] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
Recorder.recording = True
child = os.fork()
if not child:
    os._exit(users.work(activity))
result["worker"] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """What a process knows whose modules lie in a project and beside it among installed packages."""
    folder = tmp_path_factory.mktemp("importing")
    project, installed = folder / "project", folder / "lib" / "site-packages"
    (installed / "fastai").mkdir(parents=True)
    project.mkdir()
    for path in (project / "users.py", installed / "libraries_own.py", installed / "fastai" / "learner.py"):
        path.write_text(MODULE)
    (installed / "fastai" / "__init__.py").write_text("")
    # Bytecode that knows nothing of loops lies beside the user's module.
    subprocess.run([sys.executable, "-m", "py_compile", project / "users.py"], check=True)
    command = [sys.executable, "-c", PROGRAM, *map(str, (ROOT / "python", project, installed))]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_users_modules_and_those_that_drive_loops_are_watched(result):
    assert result["done"] == [3, 100, 3]
    assert result["lines"] == [["users.py", 4], ["learner.py", 4]]


def test_the_loops_that_were_ended_are_known_the_latest_first(result):
    early = [(os.path.basename(place["file"]), place["line"]) for place in result["early"]]
    assert early == [("learner.py", 4), ("users.py", 4)]
    assert result["reports"] == 2


def test_forks_are_watched_unless_they_prepare_data(result):
    assert result["fork"] == 2, "as any later visit"
    assert result["worker"] == 100
