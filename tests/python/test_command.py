"""The wheel's command does on recorded snapshots what the card says it must."""

import re

import pytest

from conftest import CORPUS, corpus_lines

OOMS = [case for case in corpus_lines("oom.jsonl") if "snapshot" in case]
MEASURED = [run for run in corpus_lines("h200.jsonl") if "snapshot" in run]


def snapshot_name(run):
    """What pytest calls the test of a run."""
    return run["snapshot"].removesuffix(".pickle.gz")


def test_version_is_the_wheels(oomph):
    from importlib.metadata import version

    assert oomph("--version") == (0, f"oomph {version('oomph')}\n", "")


@pytest.mark.parametrize("case", OOMS, ids=lambda case: case["case"])
def test_verdict_names_class_and_line(oomph, case):
    verdict = oomph.json("explain", CORPUS / case["snapshot"])["verdict"]
    assert verdict["class"] == case["class"]
    if case.get("file"):
        assert (verdict["file"].rsplit("/")[-1], verdict["line"]) == (case["file"], case["line"])


@pytest.mark.parametrize("run", [run for run in MEASURED if "leaky" not in run["snapshot"]], ids=snapshot_name)
def test_healthy_runs_raise_no_alarm(oomph, run):
    found = oomph.json("explain", CORPUS / run["snapshot"])
    assert found["verdict"]["class"] == "none"
    assert found["peak_allocated_bytes"] == run["peak_allocated_bytes"]


@pytest.mark.parametrize("run", MEASURED, ids=snapshot_name)
def test_replay_reaches_the_measured_peaks(oomph, run):
    policy = "expandable_segments" if "expandable_segments:True" in run["conf"] else "native"
    [replayed] = oomph.json("replay", CORPUS / run["snapshot"], "--policy", policy)["policies"]
    assert replayed["name"] == policy
    assert replayed["outcome"] == "ok"
    assert replayed["peak_allocated_bytes"] == run["peak_allocated_bytes"]
    assert replayed["peak_reserved_bytes"] == run["peak_reserved_bytes"]


def test_page_is_self_contained(oomph, tmp_path):
    page = tmp_path / "report.html"
    code, _, err = oomph("explain", CORPUS / "oom_growing_cache.pickle.gz", "--html", page)
    assert code == 0, err
    text = page.read_text()
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']?https?:", text), "the page must not need a network"
