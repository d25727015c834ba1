"""Which line of Python keeps host memory from step to step: the deciding part, and real processes."""

import json
import os
import random
import subprocess
import sys
import textwrap
import time

import pytest

from conftest import ROOT

PACKAGE = ROOT / "python"
sys.path.insert(0, str(PACKAGE))

from oomph.watching import host  # noqa: E402

MB = 1_000_000
BUILT_IN = "<built-in function start>"


def first_rise(readings):
    """The step at which a series is seen to rise, and its rate; none if it never is."""
    trend = host.Trend()
    for step, held_bytes in enumerate(readings):
        rate = trend.add(step, held_bytes)
        if rate:
            return step, rate
    return None


# The deciding part


@pytest.mark.parametrize("megabytes", [1, 3, 50])
def test_a_plain_rise_is_seen_within_a_few_steps(megabytes):
    readings = [500 * MB, 560 * MB, 561 * MB] + [570 * MB + step * megabytes * MB for step in range(30)]
    step, rate = first_rise(readings)
    assert step <= 12
    assert rate == pytest.approx(megabytes * MB, rel=0.35), "the steps before it are still in view"


def test_a_slow_rise_among_ragged_batches_is_seen_in_time():
    draw = random.Random(3)
    readings = [2000 * MB + step * MB // 2 + draw.randrange(60 * MB) for step in range(2000)]
    step, rate = first_rise(readings)
    assert step <= 1000
    assert rate == pytest.approx(MB / 2, rel=0.4)


def test_ragged_jobs_do_not_rise():
    rises = []
    for seed in range(40):
        draw = random.Random(seed)
        readings = [1000 * MB + draw.randrange(draw.choice([1, 10, 300]) * MB) for _ in range(1000)]
        rises.append(first_rise(readings))
    assert rises == [None] * 40


@pytest.mark.parametrize(
    "held",
    [
        lambda step: 1000 * MB + 200 * MB * min(step, 3),
        lambda step: 1000 * MB + int(300 * MB * (1 - 0.8**step)),
        lambda step: 1000 * MB + 5 * MB * (step % 5),
        lambda step: 1000 * MB + step * 5_000,
        lambda step: 1000 * MB - step * MB // 2,
    ],
    ids=["loads its data", "fills a cache ever more slowly", "collects and gives up", "keeps a number a step", "shrinks"],
)
def test_what_is_no_steady_rise_is_none(held):
    assert first_rise([held(step) for step in range(300)]) is None


# Real processes


def run(tmp_path, body, name="job.py", **environment):
    """Runs steps in a process of its own; returns what it told, by step, and what it printed."""
    prelude = f"""
        import json, sys
        sys.path.insert(0, {str(PACKAGE)!r})
        from oomph.watching.host import HostGrowth
        told = []
        growth = HostGrowth(lambda kind, facts: told.append([step, kind, facts]))
    """
    path = tmp_path / name
    # What comes before has eight lines, whatever the body is.
    path.write_text(textwrap.dedent(prelude) + "\n" + textwrap.dedent(body) + "\nprint(json.dumps(told))\n")
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    *printed, told = done.stdout.splitlines()
    return json.loads(told), printed, path


def line_of(path, marker="# leak"):
    return [number for number, line in enumerate(path.read_text().splitlines(), 1) if marker in line]


LEAKS = {
    "numpy arrays": """
        import numpy as np
        kept = []
        for step in range(1, 31):
            array = np.random.rand(160_000)
            kept.append(np.sort(array))  # leak
            growth.on_step(step, 0)
    """,
    "dicts": """
        kept = []
        for step in range(1, 31):
            for row in range(5000):
                kept.append({"step": step, "name": f"row {row}", "score": row / 7})  # leak
            growth.on_step(step, 0)
    """,
    "an array that is made anew": """
        import numpy as np
        kept = np.zeros(0)
        for step in range(1, 31):
            kept = np.concatenate([kept, np.ones(200_000)])  # leak
            growth.on_step(step, 0)
    """,
    "a library called by the user's line": """
        import collections, copy
        rows = [[float(row), row + 0.5, str(row)] for row in range(20_000)]
        kept = collections.deque()
        for step in range(1, 31):
            kept.append(copy.deepcopy(rows))  # leak
            growth.on_step(step, 0)
    """,
    "CPU tensors that nobody counts": """
        import torch
        kept = {}
        for step in range(1, 31):
            kept[step] = torch.randn(300_000) + step  # leak
            growth.on_step(step, 0)
    """,
    "beside ragged work": """
        import numpy as np
        kept, draw = [], np.random.default_rng(0)
        for step in range(1, 31):
            batch = draw.random((int(draw.integers(1, 10)), 50_000))
            kept.append(draw.random(500_000))  # leak
            growth.on_step(step, 0)
    """,
}


@pytest.mark.parametrize("kind", LEAKS)
def test_the_line_is_named_within_30_steps(tmp_path, kind):
    told, _, path = run(tmp_path, LEAKS[kind])
    assert [kind for _, kind, _ in told] == ["host_growth"], told
    _, _, facts = told[0]
    assert (facts["file"], facts["line"]) == (str(path), line_of(path)[0])
    assert facts["bytes_per_step"] >= MB
    assert facts["steps"] >= 4


HEALTHY = {
    "ragged arrays": """
        import numpy as np
        draw = np.random.default_rng(1)
        recording = draw.random(2_000_000)
        for step in range(1, 301):
            length = int(draw.integers(1_000, 60_000))
            windows = np.stack([recording[start : start + length] for start in draw.integers(0, 1_000_000, 16)])
            growth.on_step(step, 0)
    """,
    "a bounded cache": """
        import collections, numpy as np
        cache = collections.OrderedDict()
        for step in range(1, 301):
            cache[step] = np.ones(400_000)
            if len(cache) > 6:
                cache.popitem(last=False)
            growth.on_step(step, 0)
    """,
    "records that are written out": """
        records = []
        for step in range(1, 301):
            records.extend({"step": step, "row": row} for row in range(4000))
            if step % 3 == 0:
                records.clear()
            growth.on_step(step, 0)
    """,
    "CPU tensors that are counted": """
        import torch
        kept = []
        for step in range(1, 61):
            kept.append(torch.full((300_000,), 1.0))
            growth.on_step(step, 1_200_000 * step)
    """,
}


@pytest.mark.parametrize("kind", HEALTHY)
def test_healthy_jobs_are_not_disturbed(tmp_path, kind):
    watched = "import tracemalloc\ntraced = []\nplain_start = tracemalloc.start\n"
    watched += "tracemalloc.start = lambda frames=1: (traced.append(frames), plain_start(frames))\n"
    told, printed, _ = run(tmp_path, watched + textwrap.dedent(HEALTHY[kind]) + "\nprint(traced)")
    assert (told, printed) == ([], ["[]"])


def test_growth_that_ends_is_taken_back(tmp_path):
    told, _, _ = run(tmp_path, """
        import numpy as np
        kept = []
        growth._credit = 1000
        for step in range(1, 201):
            if step <= 40:
                kept.append(np.ones(400_000))
            growth.on_step(step, 0)
    """)
    assert [kind for _, kind, _ in told] == ["host_growth", "host_growth_ended"], told
    assert told[1][2] == told[0][2]


def test_a_script_that_uses_tracemalloc_has_it_for_itself(tmp_path):
    grows = """
        import numpy as np, tracemalloc
        kept = []
        for step in range(1, 31):
            {at_step}
            kept.append(np.ones(400_000))
            growth.on_step(step, 0)
        print(tracemalloc.is_tracing(), tracemalloc.is_tracing() and tracemalloc.get_traceback_limit())
        print(tracemalloc.start)
    """
    told, printed, _ = run(tmp_path, grows.format(at_step="tracemalloc.is_tracing() or tracemalloc.start(3)"))
    assert (told, printed) == ([], ["True 3", BUILT_IN])
    told, printed, _ = run(tmp_path, grows.format(at_step="step == 11 and tracemalloc.start(5)"))
    assert (told, printed) == ([], ["True 5", BUILT_IN])
    told, printed, _ = run(tmp_path, grows.format(at_step="pass"))
    assert printed == ["False False", BUILT_IN], "nothing is left behind"
    assert told


def test_a_forked_process_starts_anew(tmp_path):
    told, printed, _ = run(tmp_path, """
        import os, numpy as np
        kept = []
        for step in range(1, 7):
            kept.append(np.ones(400_000))
            growth.on_step(step, 0)
        if os.fork() == 0:
            for step in range(7, 11):
                growth.on_step(step, 0)
            print(len(growth._trend._recent), told, flush=True)
            os._exit(0)
        os.wait()
        print(len(growth._trend._recent))
    """)
    assert printed == ["4 []", "6"]


def test_a_step_costs_next_to_nothing():
    growth = host.HostGrowth(lambda kind, facts: None)
    for step in range(100):
        growth.on_step(step, 0)
    began = time.perf_counter()
    for step in range(100, 20_100):
        growth.on_step(step, 0)
    microseconds = (time.perf_counter() - began) / 20_000 * 1e6
    assert microseconds < 5, "0.3 on an idle machine"
