"""Plans every program on this machine, without a card, and holds the plans against what the card measured.

    python compare.py FOLDER [--truth h200.jsonl] [--out plans.jsonl] [--oomph COMMAND] [--jobs 1] [--set second] [NAME ...]
    python compare.py FOLDER --table plans.jsonl      the table alone
    python compare.py FOLDER --table final.jsonl --first first_sight.jsonl      two tries side by side

FOLDER is the one of prepare.py, with the data of the set's data.py in it; files are those of the set where none are named. A plan ends at the same optimizer step as the program did on
the card (standins/sitecustomize.py), so that `--steps 0`, to the end, means the same.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jobs import HERE, Job, all_jobs

PEAKS = ("peak_allocated_bytes", "peak_reserved_bytes")
LIMIT_SECONDS = 600


def truth(file: Path) -> dict[str, list[dict[str, Any]]]:
    """What the card said of each program, first turn first; failed runs are left out."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in file.read_text().splitlines():
        facts = json.loads(line)
        if facts["end"] == "ok" and facts["status"] == 0 and facts.get("peak_allocated_bytes"):
            found.setdefault(facts["name"], []).append(facts)
    return found


def plan(job: Job, folder: Path, oomph: str) -> dict[str, Any]:
    """One program planned to the step at which it ended on the card."""
    words = [oomph, "plan", "--gpu", "h200", "--steps", "0", "--json", "--python", sys.executable, *job.command(folder)]
    began = time.monotonic()
    with subprocess.Popen(
        words, cwd=job.where(folder), env=job.environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True
    ) as process:
        try:
            told, said = process.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return {"name": job.name, "error": f"ran on for {LIMIT_SECONDS} s", "seconds": LIMIT_SECONDS}
    facts: dict[str, Any] = {"name": job.name, "seconds": round(time.monotonic() - began, 1)}
    try:
        planned = json.loads(told)
    except ValueError:
        return {**facts, "error": " ".join(said.strip().splitlines()[-3:])[-400:] or f"status {process.returncode}"}
    if planned.get("outcome") == "error" or not all(peak in planned for peak in PEAKS):
        return {**facts, "error": str(planned.get("error") or said.strip() or sorted(planned))[-400:]}
    kept = {name: planned[name] for name in ("notes", "values", "reads") if planned.get(name)}
    return {**facts, **{peak: planned[peak] for peak in PEAKS}, **kept}


def off(planned: dict[str, Any], measured: dict[str, Any]) -> list[float]:
    """By how many per cent each peak is off."""
    return [100 * (planned[peak] / measured[peak] - 1) for peak in PEAKS]


def table(jobs: list[Job], plans: dict[str, dict[str, Any]], found: dict[str, list[dict[str, Any]]]) -> str:
    """Every program, and how many are near."""
    lines = ["| program | domain | card MiB | allocated | reserved | the card itself, twice | seconds |", "|---|---|---|---|---|---|---|"]
    for job in jobs:
        if job.name not in plans or job.name not in found:
            continue
        planned, runs = plans[job.name], found[job.name]
        again = [f"{100 * (runs[1][peak] / runs[0][peak] - 1):+.3f} %" for peak in PEAKS] if len(runs) > 1 else []
        both = " | ".join(cells(planned, runs[0]))
        lines.append(f"| {job.name} | {job.domain} | {runs[0][PEAKS[0]] >> 20} | {both} | {' / '.join(again)} | {planned['seconds']:.0f} |")
    return "\n\n".join(["\n".join(lines), *rates(jobs, plans, found)])


def cells(planned: dict[str, Any] | None, measured: dict[str, Any]) -> list[str]:
    """Both peaks of one plan, in words."""
    if planned is None:
        return ["not planned", ""]
    if "error" in planned:
        return ["failed", planned["error"][:60].replace("|", "/")]
    return ["exact" if value == 0 else f"{value:+.3f} %" for value in off(planned, measured)]


def rates(jobs: list[Job], plans: dict[str, dict[str, Any]], found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """How many plans are near, of those that were tried."""
    tried = [job.name for job in jobs if job.name in plans and job.name in found]
    errors = [off(plans[name], found[name][0]) for name in tried if "error" not in plans[name]]
    lines = []
    for at, peak in enumerate(PEAKS):
        values = sorted(abs(one[at]) for one in errors)
        near = ", ".join(f"{sum(value <= bound for value in values)} within {bound} %" for bound in (0.1, 0.5, 1, 2))
        exact, worst = sum(value == 0 for value in values), values[-1] if values else 0
        lines.append(f"{peak}: {len(tried)} programs, {len(tried) - len(errors)} failed, {exact} exact, {near}, worst {worst:.2f} %")
    return lines


def side_by_side(jobs: list[Job], first: dict[str, dict[str, Any]], last: dict[str, dict[str, Any]], found: dict[str, list[dict[str, Any]]]) -> str:
    """Every program that was measured, at first sight and now."""
    lines = ["| program | domain | card MiB | first sight: allocated | reserved | now: allocated | reserved |", "|---|---|---|---|---|---|---|"]
    for job in jobs:
        if job.name in found:
            measured = found[job.name][0]
            both = [*cells(first.get(job.name), measured), *cells(last.get(job.name), measured)]
            lines.append(f"| {job.name} | {job.domain} | {measured[PEAKS[0]] >> 20} | {' | '.join(both)} |")
    lines += [f"\n{title}: {line}" for title, plans in (("First sight", first), ("Now", last)) for line in rates(jobs, plans, found)]
    return "\n".join(lines)


def read_plans(file: Path) -> dict[str, dict[str, Any]]:
    """The plans of an earlier try, the last of each program."""
    return {facts["name"]: facts for facts in map(json.loads, file.read_text().splitlines())} if file.exists() else {}


def main() -> None:
    """Plans, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--set", default=".")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--first", type=Path)
    parser.add_argument("--oomph", default=os.environ.get("OOMPH", "oomph"))
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    jobs = all_jobs(given.set)
    found, plans = truth(given.truth or HERE / given.set / "h200.jsonl"), {}
    for file in filter(None, (given.table, given.out)):
        plans.update(read_plans(file))
    if not given.table:
        wanted = [job for job in jobs if job.name in found and (job.name in given.names or not given.names and job.name not in plans)]
        folder = given.folder.resolve()

        def one(job: Job) -> dict[str, Any]:
            planned = plan(job, folder, given.oomph)
            shown = planned.get("error") or " ".join(f"{value:+.3f} %" for value in off(planned, found[job.name][0]))
            print(f"{job.name}: {shown} ({planned['seconds']:.0f} s)", file=sys.stderr, flush=True)
            if given.out:
                with open(given.out, "a") as file:
                    file.write(json.dumps(planned) + "\n")
            return planned

        with ThreadPoolExecutor(given.jobs) as pool:
            plans.update({planned["name"]: planned for planned in pool.map(one, wanted)})
    print(side_by_side(jobs, read_plans(given.first), plans, found) if given.first else table(jobs, plans, found))


if __name__ == "__main__":
    main()
