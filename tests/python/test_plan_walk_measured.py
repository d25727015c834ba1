"""Whole jobs that ran to their end on an H200, against plans that walk them: validation, checkpoints and all epochs.

The scripts and what the card measured lie in `corpus/h200/extra_walk`. They were measured before any was planned.
"""

import pytest

from conftest import CORPUS, corpus_lines

#: Per cent by which a plan may be off, in allocated and in reserved memory.
NEAR = {"peak_allocated_bytes": 0.2, "peak_reserved_bytes": 1.1}
#: What plans do not get right yet, and why.
MISSED = {
    "n_tbptt.py": "the workspace of an LSTM in evaluation is an estimate",
    "o_lora.py": "blocks lie otherwise after the 60 iterations before its evaluation than after six: 7 % less is reserved",
}
CASES = [
    pytest.param(case, id=case["script"], marks=[pytest.mark.xfail(reason=MISSED[case["script"]], strict=True)])
    if case["script"] in MISSED
    else pytest.param(case, id=case["script"])
    for case in corpus_lines("extra_walk/walk.jsonl")
]


@pytest.mark.parametrize("case", CASES)
def test_walked_jobs_peak_as_they_did_on_the_card(planned, case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = planned("--gpu", "h200", CORPUS / "extra_walk" / case["script"])
    off = {peak: abs(100 * (plan[peak] / case[peak] - 1)) for peak in NEAR}
    assert all(off[peak] <= NEAR[peak] for peak in NEAR), (off, plan["seen"]["text"])
    assert list(tmp_path.iterdir()) == []
