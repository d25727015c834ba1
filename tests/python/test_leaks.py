"""`oomph run` names leaks with their line within 30 steps, and lets healthy jobs alone: a sample of `corpus/leaks`."""

import collections
import random
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "corpus" / "leaks"))
import score  # noqa: E402

BATCHES = "abc"
SAMPLE_OF_EACH = 4
SEED = 14


def sample(leaks):
    """As many of each batch; the same in every run."""
    chooser = random.Random(SEED)
    of_batch = [[job for job in score.jobs(batch) if job.leaks == leaks] for batch in "ab"]
    return [job for found in of_batch for job in chooser.sample(found, SAMPLE_OF_EACH)]


def test_every_batch_has_as_many_leaking_jobs_as_healthy_ones():
    counts = collections.Counter((job.path.parts[-3], job.leaks) for job in score.jobs())
    assert counts == {(batch, leaks): 30 for batch in BATCHES for leaks in (True, False)}
    assert all(bool(job.marked_lines) == job.leaks for job in score.jobs())


@pytest.mark.parametrize("job", [*sample(True), *sample(False)], ids=lambda job: job.name)
def test_leaks_are_named_and_healthy_jobs_are_not(oomph, job):
    assert score.problem(job, oomph.path) is None


@pytest.mark.parametrize("job", [*sample(True)[:2], *sample(False)[:2]], ids=lambda job: job.name)
def test_what_is_said_to_leak_grows_and_what_is_not_does_not(job):
    assert score.untruth(job) is None


def test_a_slope_is_what_most_points_see():
    assert score.bytes_per_iteration([0, 0, 0, *range(0, 60, 10)]) == 10
    assert score.bytes_per_iteration([5, 5, 5, 5, 900, 5, 5, 5, 5]) == 0


def test_steps_of_optimizers_that_are_made_later_are_counted(oomph, tmp_path):
    [job] = [job for job in score.jobs("a") if job.name == "a/leaking/optimizer_each_epoch"]
    account = score.account_of(job, oomph.path, tmp_path)
    assert account["steps"] == score.STEPS
