"""Measures `oomph plan --fit`: how many jobs that do not fit a card get a plan with which, planned anew, they do.

    python corpus/fit/score.py --oomph target/debug/oomph --sources FOLDER --out fit.json [NAME ...]
    python corpus/fit/score.py --at-once 14 ...  so many jobs at once, on a machine with that many cores
    python corpus/fit/score.py --measure ...     what each job takes as it is, and the card that follows from that

The card of a job is not chosen by hand: its memory is what the job holds besides PyTorch's allocator, plus 45 to 75 % of
what the plain job allocates, the percentage drawn from the job's name. It stands in manifest.toml since before anything
was tried on it.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import json
import os
import resource
import subprocess
import time
import tomllib
import zlib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LIMIT_SECONDS = 900


class Job:
    """One script of the manifest."""

    def __init__(self, facts: dict[str, Any], sources: Path) -> None:
        self.name: str = facts["name"]
        self.kind: str = facts["kind"]
        self.memory: str = facts.get("memory", "")
        self.repository: str = facts.get("repository", "own")
        self._facts, self._sources = facts, sources
        self.script = HERE / facts["path"] if self.repository == "own" else sources / self.repository / facts["path"]

    def command(self) -> list[str]:
        """The script and its arguments, with the folders of this machine put in."""
        return [str(self.script), *(one.replace("$FIT", str(self._sources)) for one in self._facts.get("args", []))]

    def folder(self) -> Path:
        """Where it is started."""
        stated = self._facts.get("cwd")
        return Path(stated.replace("$FIT", str(self._sources))) if stated else self.script.parent

    def environment(self) -> dict[str, str]:
        """Variables: where stand-ins and data are; no network."""
        paths = [str(HERE / "standins"), *(str(HERE / one if one.startswith("standins") else self._sources / one) for one in self._facts.get("python_path", []))]
        stated = {"FIT_DATA": str(self._sources / "data"), "PYTHONPATH": ":".join(paths), "TORCH_HOME": str(self._sources / "data/torch_home")}
        offline = {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "2"}
        return {**os.environ, **stated, **offline}


def planned(job: Job, oomph: str, options: list[str]) -> tuple[dict[str, Any] | None, str, float]:
    """What `oomph plan` says: its JSON, the last lines of stderr, seconds."""
    began = time.monotonic()
    command = [oomph, "plan", "--json", *options, *job.command()]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, cwd=job.folder(), env=job.environment(), timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return None, f"took more than {LIMIT_SECONDS} s", time.monotonic() - began
    seconds = time.monotonic() - began
    try:
        return json.loads(ended.stdout), ended.stderr[-600:], seconds
    except json.JSONDecodeError:
        return None, ended.stderr[-1500:], seconds


def processor_seconds() -> float:
    """What all processes that have ended took: unlike the time on the clock the same on a busy machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def stated_memory(job: Job, plain: dict[str, Any]) -> str:
    """The card for a job: see the top of this file."""
    percent = 45 + zlib.crc32(job.name.encode()) % 31
    besides = plain["peak_device_bytes"] - plain["peak_reserved_bytes"]
    return f"{(besides + plain['peak_allocated_bytes'] * percent // 100) >> 20}MiB"


def measure(job: Job, oomph: str) -> None:
    """Prints what the plain job takes and which card follows."""
    plain, errors, seconds = planned(job, oomph, [])
    if plain is None or plain.get("outcome") != "ok":
        print(f"{job.name}: {plain and plain.get('outcome')} {errors} ({seconds:.0f} s)", flush=True)
    else:
        allocated, least = plain["peak_allocated_bytes"] >> 20, (plain["least_memory_bytes"] or 0) >> 20
        print(f"{job.name}: memory {stated_memory(job, plain)} allocated {allocated} least {least} steps {plain['steps']} ({seconds:.0f} s)", flush=True)


def score(job: Job, oomph: str, options: list[str], folder: Path) -> dict[str, Any]:
    """Finds a plan for one job and plans it anew with it."""
    kept = folder / f"{job.name}.plan.json"
    kept.unlink(missing_ok=True)
    memory = ["--memory", job.memory]
    before = processor_seconds()
    found, errors, seconds = planned(job, oomph, ["--fit", *options, "--save-plan", str(kept), *memory])
    row: dict[str, Any] = {"name": job.name, "kind": job.kind, "repository": job.repository, "memory": job.memory, "seconds": round(seconds, 1), "processor_seconds": round(processor_seconds() - before, 1)}
    if found is None:
        return {**row, "fits": False, "problem": errors}
    (folder / f"{job.name}.fit.json").write_text(json.dumps(found))
    fit = found.get("fit") or {}
    candidates = fit.get("candidates", [])
    row["fits_plain"] = bool(candidates and candidates[0]["fits"])
    row |= {name: fit.get(name) for name in ("choices", "allocator", "predicted_slowdown", "peak_allocated_bytes")}
    row |= {"runs": len(candidates), "candidates": candidates}
    proof = planned(job, oomph, ["--plan", str(kept), *memory])[0] if kept.exists() else None
    row["fits"] = bool(proof and proof["fits"])
    row["from_scratch_allocated_bytes"] = proof and proof["peak_allocated_bytes"]
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = ["| job | kind | card | fits | with | slower | runs | s |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        tried = sum((one["refusals"] for one in row.get("candidates", [])), [])
        remedies = ", ".join(described(one) for one in row.get("choices") or [])
        if not row["fits"]:
            remedies = row.get("problem", "; ".join(dict.fromkeys(tried)))[-300:].replace("\n", " ")
        slowdown = row.get("predicted_slowdown")
        slower = f"{slowdown:.2f}x" if slowdown else ""
        lines.append(f"| {row['name']} | {row['kind']} | {row['memory']} | {'yes' if row['fits'] else 'no'} | {remedies} | {slower} | {row.get('runs', '')} | {row['seconds']} |")
    public = [row for row in rows if row["repository"] != "own"]
    lines.append(f"\n{sum(row['fits'] for row in rows)} of {len(rows)} fit; of {len(public)} public ones {sum(row['fits'] for row in public)}.")
    return "\n".join(lines)


def described(remedy: dict[str, Any]) -> str:
    """A remedy with its options."""
    options = ", ".join(f"{key} {value}" for key, value in remedy.items() if key not in ("name", "paths") and not isinstance(value, (list, dict)))
    return f"{remedy['name']}({options})" if options else str(remedy["name"])


def main() -> None:
    """Scores the jobs named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--oomph", default="oomph")
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("/tmp/fit_scores/scores.json"))
    parser.add_argument("--allow", default=None)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--at-once", type=int, default=1)
    given = parser.parse_args()
    manifest = tomllib.loads((HERE / "manifest.toml").read_text())
    jobs = [Job(facts, given.sources) for facts in manifest["job"]]
    jobs = [job for job in jobs if job.script.exists() and (not given.names or job.name in given.names)]
    jobs.sort(key=lambda job: given.names.index(job.name) if given.names else 0)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    rows = {row["name"]: row for row in json.loads(given.out.read_text())} if given.out.exists() else {}
    options = ["--allow", given.allow] if given.allow else []
    work = functools.partial(measure if given.measure else score, oomph=given.oomph)
    work = work if given.measure else functools.partial(work, options=options, folder=given.out.parent)
    # Processes, not threads: what a job's children take of the processors is counted for each.
    with concurrent.futures.ProcessPoolExecutor(given.at_once) as workers:
        for done in concurrent.futures.as_completed([workers.submit(work, job) for job in jobs]):
            row = done.result()
            if row is None:
                continue
            rows[row["name"]] = row
            given.out.write_text(json.dumps(list(rows.values()), indent=1))
            given.out.with_suffix(".md").write_text(table(list(rows.values())))
            print(table([row]).splitlines()[2], flush=True)


if __name__ == "__main__":
    main()
