"""What the batch finders of other libraries make of the same jobs on the same cards, hollow as well.

    python corpus/fit/peers.py --oomph target/debug/oomph --sources FOLDER --out peers.json [--at-once 14] [NAME ...]

- Trainer: `--auto_find_batch_size`, an argument of every script that takes `TrainingArguments`.
- accelerate: `find_executable_batch_size` around the scripts whose training function is given its batch size.
- Lightning: `Tuner.scale_batch_size` refuses to work for loaders that are handed to `fit`, as every Lightning job here does:
  the loader is put into a data module with a `batch_size`, which is what its documentation asks for. Fabric has no finder.

Every other job would have to be edited, which counts as not fitting. Each finder reaches another effective batch than the
script asked for; both are noted.
"""

from __future__ import annotations

import argparse
import concurrent.futures
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

#: Does the same for Lightning's tuner: what is handed to `fit` as a loader is handed over as a data module.
_TUNER = """
import runpy, sys
import lightning as L
from lightning.pytorch.tuner import Tuner
from torch.utils.data import DataLoader
sys.argv = sys.argv[1:]
plain_fit = L.Trainer.fit

class Loaded(L.LightningDataModule):
    def __init__(self, loader, validation):
        super().__init__()
        self.loader, self.validation, self.batch_size = loader, validation, loader.batch_size
    def val_dataloader(self):
        return self.validation or []
    def train_dataloader(self):
        print(f"Instantaneous batch size per device = {self.batch_size}", flush=True)
        return DataLoader(self.loader.dataset, batch_size=self.batch_size, shuffle=True, collate_fn=self.loader.collate_fn)

def fit(trainer, model, train_dataloaders=None, val_dataloaders=None, *rest, **named):
    if not isinstance(train_dataloaders, DataLoader):
        return plain_fit(trainer, model, train_dataloaders, val_dataloaders, *rest, **named)
    loaded = Loaded(train_dataloaders, val_dataloaders)
    L.Trainer.fit = plain_fit
    Tuner(trainer).scale_batch_size(model, datamodule=loaded, mode="power", init_val=2, max_trials=12)
    return plain_fit(trainer, model, datamodule=loaded)

L.Trainer.fit = fit
runpy.run_path(sys.argv[0], run_name="__main__")
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


def tried(job: Job, oomph: str, wrapper: Path, tuner: Path) -> dict[str, Any]:
    """What the finder that applies to a job makes of it."""
    row: dict[str, Any] = {"name": job.name, "finder": None, "fits": False}
    if job.name.startswith("trainer_"):
        row["finder"] = "Trainer auto_find_batch_size"
        row |= planned(job, oomph, [*job.command(), "--auto_find_batch_size", "--log_level", "info"])
        row["batches"] = lowered(row.get("batches", []))
    elif job.repository == "huggingface+accelerate":
        row["finder"] = "accelerate find_executable_batch_size"
        row |= planned(job, oomph, [str(wrapper), *job.command()])
    elif job.name.startswith("lightning_"):
        row["finder"] = "Lightning Tuner.scale_batch_size"
        row |= planned(job, oomph, [str(tuner), *job.command()])
    return row


def main() -> None:
    """Runs whichever finder applies to each job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--oomph", default="oomph")
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("/tmp/fit_scores/peers.json"))
    parser.add_argument("--at-once", type=int, default=1)
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    wrapper = given.out.parent / "find_executable_batch_size.py"
    wrapper.write_text(_WRAPPER)
    tuner = given.out.parent / "scale_batch_size.py"
    tuner.write_text(_TUNER)
    jobs = [Job(facts, given.sources) for facts in tomllib.loads((HERE / "manifest.toml").read_text())["job"]]
    jobs = [job for job in jobs if job.script.exists() and (not given.names or job.name in given.names)]
    rows = []
    with concurrent.futures.ThreadPoolExecutor(given.at_once) as workers:
        for row in workers.map(lambda job: tried(job, given.oomph, wrapper, tuner), jobs):
            rows.append(row)
            print(json.dumps(row), flush=True)
            given.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
