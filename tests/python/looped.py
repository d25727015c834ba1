"""Runs scripts whose loops are walked, on a card that is counters: import `job` and `run` to have them as fixtures."""

import gc
import sys
import textwrap

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "python"))
from oomph.watching.activity import Activity  # noqa: E402
from oomph.watching.loops import rewriting, running  # noqa: E402
from oomph.watching.loops.memory import Numbers  # noqa: E402
from oomph.watching.loops.walk import Walk  # noqa: E402


class Job:
    """What a script does to the card, as the counters of the real one would show it."""

    def __init__(self):
        self.activity = Activity()
        self.activity.optimizers = 1
        self.recording = True
        self.marks, self.reports, self.log = [], [], []
        self.live = self.allocated = self.blocks = self.refused = 0
        self.now = 0.0

    def mark(self, name, stage):
        self.marks.append((name, stage))

    def numbers(self):
        return Numbers(self.live, self.allocated, self.blocks, self.refused)

    def allocate(self, size=1 << 20, kept=0, seconds=0.05):
        self.allocated += size
        self.blocks += 1
        self.live += kept
        self.now += seconds

    # What scripts call.

    def call(self, what="call", **options):
        self.activity.calls += 1
        self.log.append(what)
        self.allocate(**options)

    def backward(self, what="backward", **options):
        self.call(what, **options)
        self.activity.backwards += 1

    def step(self, what="step", **options):
        self.backward(what, **options)
        self.activity.steps += 1

    def refuse(self):
        self.refused += 1
        raise MemoryError


@pytest.fixture
def job():
    return Job()


@pytest.fixture
def run(job, tmp_path, monkeypatch):
    """Runs a script and returns what is known of its loops, by line."""

    def start(text, is_walking=True, **names):
        walk = Walk(job.activity, job, job.reports.append, job.numbers, is_walking=is_walking, clock=lambda: job.now)
        running.use(walk)
        path = tmp_path / "train.py"
        path.write_text(textwrap.dedent(text).strip() + "\n")
        functions = {"__oomph_loop__": running.loop, "__oomph_enter__": running.enter, "__oomph_taken__": running.taken}
        functions["__oomph_asked__"] = running.asked
        scope = {"job": job, "__name__": "__main__", **functions, **names}
        job.scope, job.walk = scope, walk
        exec(rewriting.compiled(path.read_bytes(), str(path), walk), scope)
        gc.collect()
        return {record.site.line: record.facts() for record in walk.records if record.is_on_card}

    yield start
    running.use(None)


def counts(log):
    return {what: log.count(what) for what in dict.fromkeys(log)}
