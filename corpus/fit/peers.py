"""What the batch finders of other libraries make of the same jobs on the same cards, hollow as well.

    python corpus/fit/peers.py --oomph target/debug/oomph --out peers.json

- Trainer: `--auto_find_batch_size`, an argument of every script that takes `TrainingArguments`.
- accelerate: `find_executable_batch_size` around the scripts whose training function is given its batch size.
- Lightning: `Tuner.scale_batch_size` needs a model or data module with a `batch_size` of its own, which no Lightning job
  here has: they hand their loaders to `fit`, for which the tuner refuses to work.

Every other job would have to be edited, which counts as not fitting. Each finder reaches another effective batch than the
script asked for; both are noted.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from score import HERE, LIMIT_SECONDS, Job

#: Wraps a training function in the manner of accelerate's documentation; the script itself stays as it is.
_WRAPPER = """
import runpy, sys
from accelerate.utils import find_executable_batch_size
sys.argv = sys.argv[1:]
names = runpy.run_path(sys.argv[0], run_name="wrapped")
function = names["training_function"]

def training_function(config, args):
    @find_executable_batch_size(starting_batch_size=config["batch_size"])
    def run(batch_size):
        print(f"Instantaneous batch size per device = {batch_size}", flush=True)
        return function({**config, "batch_size": batch_size}, args)
    run()

names["main"].__globals__["training_function"] = training_function
names["main"]()
"""


def planned(job: Job, oomph: str, command: list[str]) -> dict[str, Any]:
    """Whether a command comes to its end on the card of a job, and the batches it tried."""
    whole = [oomph, "plan", "--json", "--show-output", "--memory", job.memory, *command]
    try:
        ended = subprocess.run(whole, capture_output=True, text=True, cwd=job.folder(), env=job.environment(), timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return {"fits": False, "problem": f"took more than {LIMIT_SECONDS} s"}
    batches = [int(size) for size in re.findall(r"Instantaneous batch size per device = ([\d,]+)", ended.stderr.replace(",", ""))]
    try:
        found = json.loads(ended.stdout)
    except json.JSONDecodeError:
        return {"fits": False, "batches": batches, "problem": ended.stderr[-400:]}
    outcome = found.get("outcome", found.get("error"))
    return {"fits": outcome == "ok" and bool(found.get("fits")), "batches": batches, "outcome": outcome}


def lowered(logged: list[int]) -> list[int]:
    """What the Trainer tried: it logs the batch that it was asked for every time, and takes nine tenths each time."""
    tried: list[int] = []
    for size in logged:
        tried.append(int(tried[-1] * 0.9) if tried else size)
    return tried


def main() -> None:
    """Runs whichever finder applies to each job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oomph", default="oomph")
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("/tmp/fit_scores/peers.json"))
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    wrapper = given.out.parent / "find_executable_batch_size.py"
    wrapper.write_text(_WRAPPER)
    rows = []
    for facts in tomllib.loads((HERE / "manifest.toml").read_text())["job"]:
        job = Job(facts, given.sources)
        if not job.script.exists():
            continue
        row: dict[str, Any] = {"name": job.name, "finder": None, "fits": False}
        if job.name.startswith("trainer_"):
            row["finder"] = "Trainer auto_find_batch_size"
            row |= planned(job, given.oomph, [*job.command(), "--auto_find_batch_size", "--log_level", "info"])
            row["batches"] = lowered(row.get("batches", []))
        elif job.repository == "huggingface+accelerate":
            row["finder"] = "accelerate find_executable_batch_size"
            row |= planned(job, given.oomph, [str(wrapper), *job.command()])
        rows.append(row)
        print(json.dumps(row), flush=True)
        given.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
