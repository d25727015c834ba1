"""`oomph run --allocator`: settings for the job at hand, chosen from what an earlier run or plan asked for."""

import json
import subprocess
import sys

import pytest
from hollow_card import hollow_environment
from running import recorded

#: Sequences that grow from step to step: ordinary segments are cached and never large enough again.
RAGGED = """
import torch
model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    optimizer.zero_grad()
    model(torch.randn(40_000 + 6_000 * step, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
settings = torch.cuda.memory._snapshot()["allocator_settings"]
print(settings["expandable_segments"], torch.cuda.get_allocator_backend(), torch.cuda.max_memory_reserved())
"""


def words(ran):
    assert ran.code == 0, ran.err
    expandable, backend, reserved = ran.out.split()
    return expandable == "True", backend, int(reserved)


@pytest.mark.parametrize(
    "choice, expected", [("native", (False, "native")), ("expandable", (True, "native")), ("async", (False, "cudaMallocAsync"))]
)
def test_what_is_asked_for_is_what_the_script_runs_with(oomph, script, tmp_path, choice, expected):
    # The driver's allocator has no snapshot to look at.
    asking = RAGGED if choice != "async" else RAGGED.split("settings =")[0] + "print(False, torch.cuda.get_allocator_backend(), 1)"
    assert words(recorded(oomph, tmp_path, script(asking), options=["--allocator", choice]))[:2] == expected


def test_without_an_earlier_run_nothing_is_changed(oomph, script, tmp_path):
    ran = recorded(oomph, tmp_path, script(RAGGED), options=["--allocator", "auto"])
    assert not words(ran)[0]
    assert "no earlier run or plan of this job is known" in " ".join(ran.err.split())


def test_the_last_run_decides(oomph, script, tmp_path):
    path = script(RAGGED)
    _, _, before = words(recorded(oomph, tmp_path, path))
    ran = recorded(oomph, tmp_path, path, options=["--allocator", "auto"])
    is_expandable, _, after = words(ran)
    assert is_expandable and after < 0.8 * before, ran.err
    assert "in a replay of the last run" in " ".join(ran.err.split())
    assert "expandable_segments:True" in ran.account["allocator"]


def test_a_plan_decides_and_is_compared_with_the_run(oomph, script, tmp_path):
    path = script(RAGGED)
    environment = {**hollow_environment(), "XDG_STATE_HOME": str(tmp_path / "state")}
    for name in ("LD_PRELOAD", "LD_LIBRARY_PATH"):
        environment.pop(name, None)
    plan = subprocess.run(
        [oomph.path, "plan", "--json", "--python", sys.executable, "--gpu", "h200", "--steps", "0", path],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert plan.returncode == 0, plan.stderr
    promised = json.loads(plan.stdout)
    ran = recorded(oomph, tmp_path, path, options=["--allocator", "auto"])
    assert "in a replay of the last plan" in " ".join(ran.err.split()), ran.err
    assert ran.account["promise"]["gpu"] == "h200"
    assert ran.account["promise"]["peak_allocated_bytes"] == promised["peak_allocated_bytes"]
    assert abs(ran.account["promise"]["allocated_more_bytes"]) < 0.02 * promised["peak_allocated_bytes"]
    assert "the plan for h200 promised" in " ".join(ran.err.split())


def test_a_home_that_cannot_be_written_to_is_no_trouble(oomph, script, tmp_path):
    locked = {"XDG_STATE_HOME": "/proc/nowhere", "HOME": "/proc/nowhere"}
    ran = recorded(oomph, tmp_path, script(RAGGED), environment=locked)
    assert words(ran)[1] == "native"
    assert "nowhere" not in ran.err
