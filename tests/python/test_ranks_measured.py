"""Rank 0 of many takes what it took on a real card, on which PyTorch's fake process group stood in for the others."""

import json
import pathlib

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "benches" / "on_card" / "ranks"
MEASURED = {job["job"]: job for job in map(json.loads, (FOLDER / "h200.jsonl").open())}
#: Of each kind one; `ranks.py compare` holds all against the card.
JOBS = ["fsdp_8_checkpointed", "fsdp_1024_mixed", "hsdp_128x8_mixed", "tp_4_sequence", "tp_8_fsdp_128_meta"]


@pytest.mark.parametrize("backend", ["fake", "nccl"])
@pytest.mark.parametrize("name", JOBS)
def test_peaks_are_what_the_card_measured(planned, name, backend):
    plan = planned("--gpu", "h200", FOLDER / "jobs.py", name, backend)
    if plan["torch"] != MEASURED[name]["torch"]:
        pytest.skip(f"measured with torch {MEASURED[name]['torch']}")
    found = {kind: plan[f"peak_{kind}"] for kind in ("allocated_bytes", "reserved_bytes")}
    assert found == {kind: MEASURED[name][kind] for kind in found}
