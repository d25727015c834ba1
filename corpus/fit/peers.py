"""What the batch finders of other libraries make of the same jobs on the same cards, hollow as well.

    python corpus/fit/peers.py --oomph target/debug/oomph --sources FOLDER --out peers.json [--at-once 14] [NAME ...]

- Trainer: `--auto_find_batch_size`, an argument of every script that takes `TrainingArguments`. The script is started by a
  few lines that print the batch each try is given: the Trainer's own log shows the one that was asked for every time.
- accelerate: `find_executable_batch_size` around the scripts whose training function is given its batch size; one script
  (accelerate_memory) has it in its own code and is run as it is.
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

#: What is printed for every batch that a finder tries.
_TRY = re.compile(r"finder of process (\d+) tries a batch of (\d+)")

#: Starts a script that uses the Trainer, and prints which batch its finder gives each try.
_TRAINER = """
import os, runpy, sys
import transformers
sys.argv = sys.argv[1:]
plain = transformers.Trainer._inner_training_loop

def loop(trainer, batch_size=None, *rest, **named):
    print(f"finder of process {os.getpid()} tries a batch of {batch_size}", file=sys.stderr, flush=True)
    return plain(trainer, batch_size, *rest, **named)

transformers.Trainer._inner_training_loop = loop
runpy.run_path(sys.argv[0], run_name="__main__")
"""

#: Prints which batch a script's own use of accelerate's finder tries.
_PRINTING = """
import functools, os, runpy, sys
import accelerate.utils
sys.argv = sys.argv[1:]
plain = accelerate.utils.find_executable_batch_size

def find(function=None, **named):
    if function is None:
        return functools.partial(find, **named)
    def tried(batch_size, *rest, **others):
        print(f"finder of process {os.getpid()} tries a batch of {batch_size}", file=sys.stderr, flush=True)
        return function(batch_size, *rest, **others)
    return plain(tried, **named)

accelerate.utils.find_executable_batch_size = find
runpy.run_path(sys.argv[0], run_name="__main__")
"""

#: Wraps a training function in the manner of accelerate's documentation; the script itself stays as it is.
_WRAPPER = """
import os, runpy, sys
from accelerate.utils import find_executable_batch_size
sys.argv = sys.argv[1:]
names = runpy.run_path(sys.argv[0], run_name="wrapped")
function = names["training_function"]

def training_function(config, args):
    @find_executable_batch_size(starting_batch_size=config["batch_size"])
    def run(batch_size):
        print(f"finder of process {os.getpid()} tries a batch of {batch_size}", file=sys.stderr, flush=True)
        return function({**config, "batch_size": batch_size}, args)
    run()

names["main"].__globals__["training_function"] = training_function
names["main"]()
"""

#: Does the same for Lightning's tuner: what is handed to `fit` as a loader is handed over as a data module.
_TUNER = """
import os, runpy, sys
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
        print(f"finder of process {os.getpid()} tries a batch of {self.batch_size}", file=sys.stderr, flush=True)
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


def planned(job: Job, oomph: str, command: list[str], folder: Path) -> dict[str, Any]:
    """Whether a command comes to its end on the card of a job, and the batches it tried."""
    whole = [oomph, "plan", "--json", "--show-output", "--values", "0", "--memory", job.memory, *command]
    try:
        ended = subprocess.run(whole, capture_output=True, text=True, cwd=job.folder(), env=job.environment(), timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return {"fits": False, "problem": f"took more than {LIMIT_SECONDS} s"}
    (folder / f"{job.name}.json").write_text(ended.stdout)
    (folder / f"{job.name}.log").write_text(ended.stderr)
    # Where the card is too small, the plan makes a second run with room, which is no matter of the finder's.
    tries = _TRY.findall(ended.stderr)
    batches = [int(size) for process, size in tries if process == tries[0][0]]
    try:
        found = json.loads(ended.stdout)
    except json.JSONDecodeError:
        return {"fits": False, "batches": batches, "problem": ended.stderr[-400:]}
    outcome = found.get("outcome", found.get("error"))
    return {"fits": outcome == "ok" and bool(found.get("fits")), "batches": batches, "outcome": outcome}


def finder_of(job: Job, scripts: Path) -> tuple[str, list[str]] | None:
    """The finder that applies to a job, and the command that has it active; none where the script would have to be edited."""
    if job.name.startswith("trainer_"):
        return "Trainer auto_find_batch_size", [str(scripts / "trainer.py"), *job.command(), "--auto_find_batch_size"]
    if job.name == "accelerate_memory":
        return "accelerate find_executable_batch_size", [str(scripts / "printing.py"), *job.command()]
    if job.repository == "huggingface+accelerate":
        return "accelerate find_executable_batch_size", [str(scripts / "wrapper.py"), *job.command()]
    if job.name.startswith("lightning_"):
        return "Lightning Tuner.scale_batch_size", [str(scripts / "tuner.py"), *job.command()]
    return None


def outcome_of(job: Job, oomph: str, scripts: Path) -> dict[str, Any]:
    """What the finder that applies to a job makes of it."""
    row: dict[str, Any] = {"name": job.name, "memory": job.memory, "finder": None, "fits": False}
    if applies := finder_of(job, scripts):
        row["finder"], command = applies
        row |= planned(job, oomph, command, scripts)
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
    for name, text in {"trainer": _TRAINER, "printing": _PRINTING, "wrapper": _WRAPPER, "tuner": _TUNER}.items():
        (given.out.parent / f"{name}.py").write_text(text)
    jobs = [Job(facts, given.sources) for facts in tomllib.loads((HERE / "manifest.toml").read_text())["job"]]
    jobs = [job for job in jobs if job.script.exists() and (not given.names or job.name in given.names)]
    jobs.sort(key=lambda job: given.names.index(job.name) if given.names else 0)
    rows = []
    with concurrent.futures.ThreadPoolExecutor(given.at_once) as workers:
        for row in workers.map(lambda job: outcome_of(job, given.oomph, given.out.parent), jobs):
            rows.append(row)
            print(json.dumps(row), flush=True)
            given.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
