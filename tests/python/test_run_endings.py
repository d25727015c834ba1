"""However a recorded process ends, its box can be read up to its last moment and the verdict is right.

500 processes end: 24 are whole jobs, each under an `oomph run` of its own, the rest forks of recorded jobs, which need
no import of torch each. OOMPH_ENDINGS and OOMPH_WHOLE_ENDINGS set these numbers, OOMPH_SEED draws other endings.
"""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import pickle
import random
import subprocess

import pytest
from jobs.many_endings import ENDINGS, Ending, Told
from running import account_in, boxes_in, recorded, start

JOB = pathlib.Path(__file__).parent / "jobs" / "many_endings.py"
WHOLE = int(os.environ.get("OOMPH_WHOLE_ENDINGS", "24"))
FORKED = int(os.environ.get("OOMPH_ENDINGS", "500")) - WHOLE
SEED = int(os.environ.get("OOMPH_SEED", "1"))
#: Jobs whose forks are ended at the same time.
PARENTS = 2
BLAMED = 1 + next(at for at, line in enumerate(JOB.read_text().splitlines()) if "the line to blame" in line)
#: What whoever waits for the process sees.
CODES = {"SIGKILL": -9, "SIGTERM": -15, "SIGINT": -2, "out of memory": 1, "exception": 1, "os._exit": 3}
#: So many boxes of the usual size would take more room than a test should.
SMALL = {"OOMPH_BOX_BYTES": str(4 << 20)}


@dataclasses.dataclass
class Ended:
    """A process that has ended, and what it had told until then."""

    kind: str
    code: int
    steps: int
    allocations: int
    box: pathlib.Path
    #: What `oomph run` says at the end, where the process was the whole job.
    account: dict | None = None


def _forks(oomph, folder, seed, count):
    """Ends forks of one recorded job."""
    folder.mkdir()
    ran = recorded(oomph, folder, JOB, seed, count, environment=SMALL, seconds=300 + 10 * count)
    assert ran.code == 0, ran.err
    told = [json.loads(line) for line in ran.out.splitlines()]
    assert len(told) == count
    boxes = {int(path.name.split("-")[0]): path for path in ran.boxes}
    return [Ended(job["ending"], job["code"], job["steps"], job["allocations"], boxes[job["pid"]]) for job in told]


def _whole(oomph, folder, ending):
    """Ends one job that is a process of its own."""
    folder.mkdir()
    place = folder / "told"
    place.touch()
    told = Told(place)
    words = (JOB, ending.kind, ending.last_step, place)
    process = start(oomph, folder, *words, environment=SMALL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
        child = _first_child(process, children)
    ending.bring_about(child, told)
    _, err = process.communicate(timeout=120)
    boxes = boxes_in(folder)
    assert len(boxes) == 1, err
    return Ended(ending.kind, process.returncode, told.steps, told.allocations, boxes[0], account_in(folder))


def _first_child(process, children):
    """The job, once `oomph run` has started it."""
    while process.poll() is None:
        children.seek(0)
        if found := children.read().split():
            return int(found[0])
    raise AssertionError(process.stderr.read())


@pytest.fixture(scope="module")
def ended(oomph, tmp_path_factory):
    folder = tmp_path_factory.mktemp("endings")
    numbers = random.Random(SEED)
    with concurrent.futures.ThreadPoolExecutor(PARENTS) as pool:
        shares = [FORKED // PARENTS, FORKED - FORKED // PARENTS]
        forks = [
            pool.submit(_forks, oomph, folder / f"forks{at}", numbers.randrange(1 << 30), share)
            for at, share in enumerate(shares)
        ]
        whole = [pool.submit(_whole, oomph, folder / f"whole{at}", Ending.draw(numbers)) for at in range(WHOLE)]
        return [job for part in forks for job in part.result()] + [part.result() for part in whole]


def test_every_way_of_ending_is_tried_and_seen_by_the_caller(ended):
    assert len(ended) == FORKED + WHOLE
    assert {job.kind for job in ended} == set(ENDINGS)
    for job in ended:
        assert job.code == CODES[job.kind], job
        assert job.steps > 0, job


def test_every_box_is_read_and_judged(oomph, ended):
    for job in ended:
        code, out, err = oomph("explain", "--json", job.box)
        assert code == 0, (job, err)
        _judge(job, json.loads(out)["verdict"])


def test_the_account_of_a_whole_job_says_the_same(ended):
    whole = [job for job in ended if job.account is not None]
    assert len(whole) == WHOLE
    for job in whole:
        _judge(job, job.account["verdict"])
        signal = -job.code if job.code < 0 else None
        assert (job.account["signal"], job.account["exit_code"]) == (signal, None if signal else job.code), job
        assert job.account["outcome"] == ("oom" if job.kind == "out of memory" else "ok"), job
        assert job.account["steps"] >= job.steps, job


def _judge(job, verdict):
    if job.kind == "out of memory":
        assert (verdict["class"], verdict["line"]) == ("leak", BLAMED), (job, verdict)
        assert verdict["proof"]["fits_without"]
    else:
        assert verdict["class"] == "none", (job, verdict)


def test_nothing_is_missing_at_the_end(oomph, ended, tmp_path):
    for job in ended:
        exported = tmp_path / "box.pickle"
        code, _, err = oomph("explain", job.box, "--export", exported)
        assert code == 0, err
        events = pickle.loads(exported.read_bytes())["device_traces"][0]
        allocations = sum(event["action"] == "alloc" for event in events)
        # It may have done more since it told, never less.
        assert allocations >= job.allocations > 0, job
