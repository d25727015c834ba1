"""However a recorded process ends, its box can be read up to its last moment and the verdict is right.

`make test` ends 40 processes; OOMPH_ENDINGS=500 ends so many.
"""

import json
import os
import pathlib
import pickle

import pytest
from running import recorded

JOB = pathlib.Path(__file__).parent / "jobs" / "many_endings.py"
COUNT = int(os.environ.get("OOMPH_ENDINGS", "40"))
SEED = int(os.environ.get("OOMPH_SEED", "1"))
BLAMED = 1 + next(at for at, line in enumerate(JOB.read_text().splitlines()) if "the line to blame" in line)


@pytest.fixture(scope="module")
def jobs(oomph, tmp_path_factory):
    folder = tmp_path_factory.mktemp("endings")
    # Small boxes: so many would take more room than a test should.
    ran = recorded(oomph, folder, JOB, SEED, COUNT, environment={"OOMPH_BOX_BYTES": str(4 << 20)}, seconds=300 + 10 * COUNT)
    assert ran.code == 0, ran.err
    told = [json.loads(line) for line in ran.out.splitlines()]
    boxes = {int(path.name.split("-")[0]): path for path in ran.boxes}
    return [(job, boxes[job["pid"]]) for job in told]


def test_every_box_is_read_and_judged(oomph, jobs):
    assert len(jobs) == COUNT
    for job, box in jobs:
        code, out, err = oomph("explain", "--json", box)
        assert code == 0, (job, err)
        verdict = json.loads(out)["verdict"]
        if job["ending"] == "out of memory":
            assert (verdict["class"], verdict["line"]) == ("leak", BLAMED), (job, verdict)
            assert verdict["proof"]["fits_without"]
        else:
            assert verdict["class"] == "none", (job, verdict)


def test_nothing_is_missing_at_the_end(oomph, jobs, tmp_path):
    for job, box in jobs[:40]:
        exported = tmp_path / "box.pickle"
        code, _, err = oomph("explain", box, "--export", exported)
        assert code == 0, err
        events = pickle.loads(exported.read_bytes())["device_traces"][0]
        allocations = sum(event["action"] == "alloc" for event in events)
        # It may have done more since it told, never less.
        assert allocations >= job["allocations"] > 0, job
