"""What `oomph run` costs the four jobs of `steps.py` on a real card: cost.py OUT.json. Takes some six minutes.

Each job is one process under `oomph run` that switches the recording on and off in turns (`in_turns.py`), five repeats
each; `noise` is how far two equal measurements differ, by repeat. What there is so far is written after each job.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
OOMPH = os.environ.get("OOMPH", "oomph")
#: The one whose figure is nearest to the limit comes first.
JOBS = ["small", "resnet50", "gpt2", "qwen2"]
RATIO_MAX = 1.01
#: What a job may take beside its measurement: imports, the model, the first steps.
START_SECONDS_MAX = 120


def measured(job, seconds, parts):
    """What a job costs, or why that is not known."""
    command = [OOMPH, "run", "--python", sys.executable, str(HERE / "in_turns.py"), job]
    command += ["--seconds", str(seconds), "--parts", *parts]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds * 1.5 + START_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return {"failed": "it did not end in time"}
    if done.returncode != 0:
        return {"failed": done.stderr[-1500:]}
    told = json.loads(done.stdout.strip().splitlines()[-1])
    everything = told["parts"]["all"]
    return {
        "ratio": everything["ratio"], "ratios": everything["ratios"], "noise": told["parts"]["again"]["ratios"],
        "is_within_limit": everything["ratio"] <= RATIO_MAX, **told,
    }


def row(job, found):
    if "failed" in found:
        return f"{job:9} failed: {found['failed'].strip().splitlines()[-1]}"
    spans = [f"{min(ratios):.4f} to {max(ratios):.4f}" for ratios in (found["ratios"], found["noise"])]
    step_ms = found["parts"]["off"]["median_ms"]
    return f"{job:9} {step_ms:8.2f} ms a step, {found['ratio']:.4f}x ({spans[0]}); equal ones differ by {spans[1]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=75.0, help="what the measurement of each job may take")
    parser.add_argument("--jobs", nargs="*", default=JOBS, choices=JOBS)
    parser.add_argument("--parts", nargs="*", default=["all"], help="see `in_turns.py`; `all` must be among them")
    wanted = parser.parse_args()
    found = {}
    for job in wanted.jobs:
        began = time.monotonic()
        found[job] = measured(job, wanted.seconds, wanted.parts)
        pathlib.Path(wanted.out).write_text(json.dumps(found, indent=1))
        print(row(job, found[job]), f"[{time.monotonic() - began:.0f} s]", flush=True)


main()
